# SPDX-License-Identifier: Apache-2.0
# tests/test_network.sh: whether test networks (banyan run --net) can be made here; scripts that need them source it.

# cannot_make_test_network BANYAN: true where neither Banyan nor the tools that it uses can make one, and then says
# why. What the tools can do and Banyan cannot is Banyan's fault, and to be seen.
cannot_make_test_network() {
    local said
    said=$("$1" run --net hosts:1+1,gbps=1 true 2>&1) && return 1
    unshare -n -m -u -i sh -c 'ip link add s0 type bridge && ip link add eth0 type veth peer name eth1 &&
        tc qdisc add dev eth0 root tbf rate 1gbit burst 25kb limit 1mb' > /dev/null 2>&1 && return 1
    echo "no test network can be made here: ${said#banyan run: }"
}

# The exit code by which a test says that it was skipped (SKIP_RETURN_CODE in tests/CMakeLists.txt).
skipped=77
