#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Three and four machines in a ring without a switch (spark:3, spark:4): a cable of 200 Mbit/s to each
# neighbour, a network per cable, and routes both ways round. One cable dies while a call runs: the group goes
# on over the others, with right sums. Needs root and network namespaces; elsewhere it is skipped.
#   sparks.sh SOURCE BANYAN
set -u
banyan=$2
place=$(mktemp -d)
host=bnys$$x
failed=0
port=$((20000 + $$ % 20000))
export BANYAN_STATUS_FOLDER=off BANYAN_SECRET=sparks BANYAN_SOCKET_IFNAME=eth

unmake() {
    for i in 0 1 2 3; do ip netns del $host$i 2> /dev/null; done
}
trap 'unmake; rm -rf "$place"' EXIT

# Cable i leads from interface eth1 of machine i to eth0 of the next one: network 10.78.i.0/24.
make_ring() { # COUNT
    local count=$1 i next end
    for ((i = 0; i < count; i++)); do
        ip netns add $host$i && ip -n $host$i link set lo up || return 1
        ip netns exec $host$i sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 \
            net.ipv4.conf.default.rp_filter=0 net.ipv4.conf.all.ignore_routes_with_linkdown=1 \
            net.ipv4.conf.default.ignore_routes_with_linkdown=1 || return 1
    done
    for ((i = 0; i < count; i++)); do
        next=$(((i + 1) % count))
        ip link add eth1 netns $host$i type veth peer name eth0 netns $host$next &&
            ip -n $host$i addr add 10.78.$i.1/24 dev eth1 &&
            ip -n $host$next addr add 10.78.$i.2/24 dev eth0 || return 1
        for end in "$host$i eth1" "$host$next eth0"; do
            ip -n ${end% *} link set ${end#* } gso_max_size 12000 up &&
                ip netns exec ${end% *} tc qdisc add dev ${end#* } root tbf rate 200mbit burst 25kb \
                    latency 50ms || return 1
        done
    done
    for ((i = 0; i < count; i++)); do
        for ((end = 0; end < count; end++)); do
            next=$(((end + 1) % count))
            [ $end = $i ] || route $count $i $end 10.78.$end.1 || return 1
            [ $next = $i ] || route $count $i $next 10.78.$end.2 || return 1
        done
    done
}

# How machine i reaches an address of another one: the shorter way round, and if that is cut, the other one. To
# the machine opposite, even machines go up and odd ones down, so that none that passes packets on for 0 and 1
# sends them back to where the cable is cut. For the loss of any cable a ring of four needs a routing daemon.
route() { # COUNT I OTHER ADDRESS
    local count=$1 i=$2 other=$3 address=$4 before=$((($2 + $1 - 1) % $1))
    local up="via 10.78.$i.2" down="via 10.78.$before.1"
    [ $address = 10.78.$i.2 ] && up="dev eth1"
    [ $address = 10.78.$before.1 ] && down="dev eth0"
    ip -n $host$i route add $address/32 $up metric $((100 + 2 * ((other - i + count) % count) + i % 2)) &&
        ip -n $host$i route add $address/32 $down metric $((101 + 2 * ((i - other + count) % count) - i % 2))
}

forwarded() { # MACHINE
    ip netns exec $host$1 awk '/^Ip: [0-9]/ {print $7}' /proc/net/snmp
}

# The cable between machines 0 and 1 is cut as soon as 8 MiB have gone over it.
survives() { # COUNT
    local count=$1 i jobs=() root before=() code bad=0 passed_on
    make_ring $count > "$place/log" 2>&1 || { cat "$place/log"; return 77; }
    port=$((port + 1))
    for ((i = count - 1; i >= 0; i--)); do
        root=10.78.$([ $i = $((count - 1)) ] && echo $i.2 || echo 0.1):$port
        [ $i = 0 ] && root=0.0.0.0:$port
        BANYAN_SIZE=$count BANYAN_RANK=$i BANYAN_ROOT=$root BANYAN_TIMEOUT_MS=20000 timeout -k 5 90 \
            ip netns exec $host$i "$banyan" bench -b 1M -e 1M --iters 30 -w 1 --topo spark:$count --json \
            > "$place/out$i" 2> "$place/err$i" &
        jobs+=($!)
    done
    for ((i = 0; i < 300; i++)); do
        [ "$(ip netns exec ${host}0 cat /sys/class/net/eth1/statistics/tx_bytes)" -gt 8388608 ] && break
        sleep 0.05
    done
    for ((i = 2; i < count; i++)); do before[i]=$(forwarded $i); done
    ip -n ${host}0 link set eth1 down
    for i in "${jobs[@]}"; do
        wait $i
        code=$?
        [ $code = 0 ] || bad=$code
    done
    [ $bad = 0 ] || { echo "a rank ended with $bad"; head -n 3 "$place"/err*; return 1; }
    grep -q '"nwrong": *[^0 ]' "$place/out0" && { echo "wrong sums"; return 1; }
    for ((i = 2; i < count; i++)); do
        passed_on=$(($(forwarded $i) - before[i]))
        echo "spark:$count: machine $i passed on $passed_on packets after the cut"
        [ $passed_on -gt 1000 ] || return 1
    done
}

for count in 3 4; do
    survives $count
    code=$?
    unmake
    [ $code = 77 ] && { echo "skipped: machines in a ring cannot be made here"; exit 77; }
    [ $code = 0 ] || { echo "FAILED: spark:$count does not survive the loss of a cable"; failed=1; }
done
[ $failed = 0 ] && echo "rings of three and four survive the loss of a cable"
exit $failed
