#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which interfaces, addresses and ports carry the bytes: two hosts with two cables between them, each shaped to 100 Mbit/s (one less for a while),
# with IPv4 on both and IPv6 on one; then a host that has IPv6 alone; and three hosts without a switch, with a cable for each pair. Needs root and network namespaces; elsewhere there is
# nothing to see.
#   interfaces.sh SOURCE BANYAN
set -u
banyan=$2
place=$(mktemp -d)
left=bnyl$$ right=bnyr$$ corner=bnyc$$
passed=0 failed=0
export BANYAN_STATUS_FOLDER=off BANYAN_SECRET=interfaces BANYAN_SIZE=2

clean_up() {
    ip netns del $left 2> /dev/null
    ip netns del $right 2> /dev/null
    for i in 0 1 2; do ip netns del $corner$i 2> /dev/null; done
    rm -rf "$place"
}
trap clean_up EXIT

check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        echo "FAILED: $what"
        failed=$((failed + 1))
    fi
}

make_hosts() {
    ip netns add $left && ip netns add $right || return 1
    for i in 0 1; do
        ip link add eth$i netns $left type veth peer name eth$i netns $right || return 1
        for host in $left $right; do
            ip -n $host link set eth$i gso_max_size 12000 up
            ip netns exec $host tc qdisc add dev eth$i root tbf rate 100mbit burst 25kb latency 50ms || return 1
        done
    done
    for host in $left $right; do
        local number=$([ $host = $left ] && echo 1 || echo 2)
        ip -n $host link set lo up
        ip -n $host addr add 10.77.0.$number/24 dev eth0
        ip -n $host addr add 10.77.1.$number/24 dev eth1
        ip -n $host addr add fd77::$number/64 dev eth0 nodad
    done
}

# pair ROOT ARGUMENTS...: bench on both hosts; standard output in left and right, errors in left.err and right.err.
pair() {
    local root=$1 other
    shift
    BANYAN_ROOT=$root BANYAN_RANK=1 timeout 60 ip netns exec $right "$banyan" bench "$@" > "$place/right" 2> "$place/right.err" &
    other=$!
    BANYAN_ROOT=$root BANYAN_RANK=0 timeout 60 ip netns exec $left "$banyan" bench "$@" > "$place/left" 2> "$place/left.err"
    local code=$?
    wait $other
    return $code
}

sent() { # INTERFACE: bytes that left this way
    ip netns exec $left cat /sys/class/net/$1/statistics/tx_bytes
}

if ! make_hosts > "$place/log" 2>&1; then
    echo "skipped: two hosts cannot be made here: $(head -n 1 "$place/log")"
    exit 77
fi
port=$((20000 + $$ % 20000))

# What each interface carries of all-reduces of 4 MiB: eth0 MIN to MAX per cent of what eth1 does, in one of three runs, since
# they share what is ready as it comes.
shares() { # MIN MAX [OPTION...]
    local min=$1 max=$2 zero one
    shift 2
    for attempt in 1 2 3; do
        zero=$(sent eth0) one=$(sent eth1)
        BANYAN_SOCKET_IFNAME=eth pair 10.77.0.1:$((port++)) -b 4M -e 4M --iters 3 -w 1 --json "$@" || return 1
        zero=$(($(sent eth0) - zero)) one=$(($(sent eth1) - one))
        echo "eth0 carried $zero bytes, eth1 $one"
        [ $((zero * 100)) -gt $((one * min)) ] && [ $((zero * 100)) -lt $((one * max)) ] && return
    done
    return 1
}
check "two interfaces carry half each" shares 80 125

# One of the cables made four times slower.
shape() { # MBIT: of the second cable
    for host in $left $right; do
        ip netns exec $host tc qdisc change dev eth1 root tbf rate $1mbit burst 25kb latency 50ms || return 1
    done
}
carry_what_they_can() {
    shape 25 || return 1
    shares 200 800 --topo hosts:1+1,gbps=0.125
    local result=$?
    shape 100
    return $result
}
check "unequal interfaces carry what they can" carry_what_they_can

keeps_to_one() {
    local one
    one=$(sent eth1)
    BANYAN_SOCKET_IFNAME==eth0 pair 10.77.0.1:$((port++)) -b 1M -e 1M --iters 1 -w 0 || return 1
    [ $(($(sent eth1) - one)) -lt 10000 ]
}
check "an interface that is not named carries nothing" keeps_to_one

by_network() {
    local one
    one=$(sent eth1)
    BANYAN_SOCKET_IFNAME=10.77.1.0/24 pair 10.77.0.1:$((port++)) -b 1M -e 1M --iters 1 -w 0 || return 1
    [ $(($(sent eth1) - one)) -gt 1000000 ]
}
check "a network chooses the interface" by_network

no_such() {
    BANYAN_SOCKET_IFNAME=ib pair 10.77.0.1:$((port++)) -b 1K -e 1K
    grep -q "no interface that is up fits BANYAN_SOCKET_IFNAME=ib" "$place/left.err"
}
check "an interface that is not there is one sentence" no_such

# Ports: every socket that listens while the job runs lies in the range; the place where ranks meet is the launcher's.
in_range() {
    local low=$((port += 100)) found=0
    BANYAN_PORT_RANGE=$low-$((low + 3)) pair 10.77.0.1:$((low + 50)) -b 256K -e 256K --iters 60 -w 1 &
    local job=$!
    for attempt in $(seq 100); do
        ss_lines=$(ip netns exec $left ss -Hltn | awk '{sub(/.*:/, "", $4); print $4}')
        for number in $ss_lines; do
            [ "$number" = $((low + 50)) ] && continue
            [ "$number" -ge $low ] && [ "$number" -le $((low + 3)) ] || { wait $job; return 1; }
            found=1
        done
        [ $found = 1 ] && break
        sleep 0.1
    done
    wait $job && [ $found = 1 ]
}
check "a range of ports is kept to" in_range

too_small() {
    local low=$((port += 100))
    BANYAN_ROOT=127.0.0.1:$((low + 50)) BANYAN_PORT_RANGE=$low-$low timeout 60 ip netns exec $left \
        "$banyan" run -n 2 -- "$banyan" bench -b 1K -e 1K --transport tcp > "$place/small" 2>&1
    grep -q "BANYAN_PORT_RANGE=$low-$low: no port of 127.0.0.1 is free; each rank of a host needs one" "$place/small" ||
        { head -5 "$place/small"; return 1; }
}
check "a range that is too small is one sentence" too_small
not_a_range() {
    BANYAN_PORT_RANGE=9-3 pair 10.77.0.1:$((port++)) -b 1K -e 1K
    grep -q "BANYAN_PORT_RANGE=9-3 is not like 50000-50100" "$place/left.err"
}
check "what is no range is one sentence" not_a_range

# IPv6.
check "IPv6 where both are there" pair "[fd77::1]:$((port++))" -b 64K -e 64K --iters 2 -w 1
six_only() {
    for host in $left $right; do
        ip -n $host -4 addr flush dev eth0
        ip -n $host -4 addr flush dev eth1
    done
    pair "[fd77::1]:$((port++))" -b 64K -e 64K --iters 2 -w 1 &&
        BANYAN_SOCKET_FAMILY=AF_INET6 BANYAN_SOCKET_IFNAME=eth pair "[fd77::1]:$((port++))" -b 64K -e 64K --iters 2 -w 1
}
check "IPv6 alone" six_only
no_four() {
    BANYAN_SOCKET_FAMILY=AF_INET BANYAN_SOCKET_IFNAME=eth pair "[fd77::1]:$((port++))" -b 1K -e 1K
    grep -q "IPv4\|cannot be found" "$place/left.err"
}
check "IPv4 asked for where there is none is one sentence" no_four

# Three hosts, a cable of 100 Mbit/s for each pair, two addresses per host: each reaches the others at the one that its cable leads to, rank 0
# meets them on all of its addresses, and all cables carry the same.
cable() { # HOST INTERFACE HOST INTERFACE NETWORK
    ip link add eth$2 netns $corner$1 type veth peer name eth$4 netns $corner$3 &&
        ip -n $corner$1 addr add 10.78.$5.1/24 dev eth$2 && ip -n $corner$3 addr add 10.78.$5.2/24 dev eth$4 || return 1
    for end in "$1 eth$2" "$3 eth$4"; do
        ip -n $corner${end% *} link set ${end#* } gso_max_size 12000 up &&
            ip netns exec $corner${end% *} tc qdisc add dev ${end#* } root tbf rate 100mbit burst 25kb latency 50ms || return 1
    done
}
triangle() {
    local others=() roots=(0.0.0.0 10.78.1.1 10.78.2.1) least=1000000000 most=0 bytes code
    for i in 0 1 2; do ip netns add $corner$i && ip -n $corner$i link set lo up || return 1; done
    cable 0 0 1 0 1 && cable 0 1 2 0 2 && cable 1 1 2 1 3 || return 1
    port=$((port + 1))
    for i in 1 2 0; do
        BANYAN_SIZE=3 BANYAN_RANK=$i BANYAN_ROOT=${roots[i]}:$port BANYAN_SOCKET_IFNAME=eth timeout 60 ip netns exec $corner$i \
            "$banyan" bench -b 3M -e 3M --iters 2 -w 1 --topo full:3,gbps=0.1 > "$place/corner$i" 2> "$place/corner$i.err" &
        others+=($!)
    done
    for job in "${others[@]}"; do
        wait $job
        code=$?
        [ $code = 0 ] || { head -n 2 "$place"/corner*.err; return 1; }
    done
    for i in 0 1 2; do
        for end in 0 1; do
            bytes=$(ip netns exec $corner$i cat /sys/class/net/eth$end/statistics/tx_bytes)
            [ $bytes -lt $least ] && least=$bytes
            [ $bytes -gt $most ] && most=$bytes
        done
    done
    echo "three hosts, a cable for each pair: $least to $most bytes over each"
    [ $((least * 10)) -gt $((most * 8)) ]
}
check "hosts that are cabled directly use every cable" triangle

echo "$passed passed, $failed failed"
[ $failed = 0 ]
