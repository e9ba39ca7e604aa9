#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The launcher: what ranks are told, whose exit code counts, signals, time-outs, and that nothing stays when the
# launcher is killed. Test networks only as root and where namespaces can be made; it says so when they are left out.
#   run.sh SOURCE BANYAN
set -u
# As root it has a network and a list of namespaces of its own: what others on the machine make meanwhile, such as the
# test beside it, is not taken for something that the launcher has left.
if [ "${APART-}" = "" ] && [ "$(id -u)" = 0 ] && unshare -n -m true 2> /dev/null; then
    APART=yes exec unshare -n -m bash "$0" "$@"
fi
if [ "${APART-}" != "" ]; then
    unset APART
    ip link set lo up 2> /dev/null
    mkdir -p /run/netns && mount -t tmpfs none /run/netns
fi
. "$1/tests/test_network.sh"
banyan=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place" || exit 1
passed=0 failed=0

complain() {
    echo "FAILED: $*"
    failed=$((failed + 1))
}

check() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else complain "$what"; fi
}

# expect CODE WORDS ARGUMENTS...: the exit code, and words that standard output or error must hold.
expect() {
    local code=$1 words=$2 found got
    shift 2
    found=$("$banyan" run "$@" 2>&1 < /dev/null)
    got=$?
    if [ $got != "$code" ] || ! grep -qF -- "$words" <<< "$found"; then
        complain "banyan run $*: exit code $got, should be $code; should say: $words"
        head -5 <<< "$found" | sed 's/^/  | /'
    else
        passed=$((passed + 1))
    fi
}

soon() { # COMMAND...: true within a minute
    local i
    for i in $(seq 1200); do
        "$@" && return 0
        sleep 0.05
    done
    return 1
}

all_gone() { # PID...
    local pid
    for pid; do
        [ ! -d "/proc/$pid" ] || grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2> /dev/null || return 1
    done
}

has_lines() { # FILE COUNT
    [ "$(cat "$1" 2> /dev/null | wc -l)" -ge "$2" ]
}

# What a rank learns.
expect 0 "rank 2 of 3, 2 of 3 here" -n 3 sh -c 'echo "rank $BANYAN_RANK of $BANYAN_SIZE, $BANYAN_LOCAL_RANK of $BANYAN_LOCAL_SIZE here"'
expect 0 "127.0.0.1:" -n 1 sh -c 'echo $BANYAN_ROOT'
expect 0 "torch: 2 of 3, 2 of 3 here, 127.0.0.1" -n 3 sh -c \
    'echo "torch: $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE here, $MASTER_ADDR"'
expect 0 "another port" -n 1 sh -c '[ "$MASTER_ADDR:$MASTER_PORT" = "$BANYAN_ROOT" ] || echo another port $((MASTER_PORT))'
expect 0 "64 digits" -n 1 sh -c 'echo ${#BANYAN_SECRET} digits'
one=$("$banyan" run -n 1 sh -c 'echo $BANYAN_SECRET')
two=$("$banyan" run -n 1 sh -c 'echo $BANYAN_SECRET')
check "every job has a secret of its own" [ "$one" != "$two" ]
check "all ranks have the same secret" [ "$("$banyan" run -n 4 sh -c 'echo $BANYAN_SECRET' | sort -u | wc -l)" = 1 ]
check "rank 0 reads our input" [ "$(echo hello | "$banyan" run -n 2 cat)" = hello ]
check "options of the command are its own" [ "$("$banyan" run -n 1 -- printf '%s ' -n --tag)" = "-n --tag " ]
check "without a number there are two" [ "$("$banyan" run echo x | wc -l)" = 2 ]

# Output.
expect 0 "[1] out" -n 2 --tag sh -c 'echo out; echo err >&2'
expect 0 "[0] no newline" -n 1 --tag printf 'no newline'
check "error output stays error output" [ "$("$banyan" run -n 2 --tag sh -c 'echo err >&2' 2> /dev/null)" = "" ]
check "long lines come out whole" \
    [ "$("$banyan" run -n 1 --tag sh -c 'head -c 10000 /dev/zero | tr "\0" x' | tr -cd x | wc -c)" = 10000 ]
check "many lines come out whole" \
    [ "$("$banyan" run -n 4 --tag seq 1000 | grep -cE '^\[[0-3]\] [0-9]+$')" = 4000 ]
expect 0 '"exit_code":0,"failed_rank":null,"ok":true' -n 2 --json true
expect 1 '"exit_code":1,"failed_rank":0,"ok":false' -n 1 --json false

# Failures.
expect 7 "exited with code 7; the others are ended" -n 3 sh -c '[ $BANYAN_RANK = 1 ] && exit 7; sleep 60'
expect 137 "rank 2 (process" -n 3 sh -c '[ $BANYAN_RANK = 2 ] && kill -9 $$; sleep 60'
expect 137 "was ended by signal 9" -n 3 sh -c '[ $BANYAN_RANK = 2 ] && kill -9 $$; sleep 60'
expect 5 "exited with code 5" -n 2 sh -c 'trap "" TERM; [ $BANYAN_RANK = 1 ] && exit 5; while :; do sleep 1; done'
# A folder in PATH that may not be searched makes execvp say that instead.
PATH=/usr/bin:/bin expect 127 "cannot start nosuchcommand: No such file or directory" -n 3 nosuchcommand
check "quiet says nothing" [ "$("$banyan" run -q -n 2 false 2>&1)" = "" ]
expect 124 "not done after 0.3 s; still running: rank 0, rank 1" -n 2 --timeout 300ms sleep 60
expect 124 "still running: rank 1" -n 2 --timeout 0.5 sh -c '[ $BANYAN_RANK = 0 ] || sleep 60'
expect 0 "rank 1 (process" -n 3 --spare 1 sh -c '[ $BANYAN_RANK = 1 ] && kill -9 $$; sleep 0.3'
expect 0 "the others go on" -n 3 --spare 1 sh -c '[ $BANYAN_RANK = 1 ] && exit 4; sleep 0.3; exit 0'
# Rank 2 fails when rank 1 has failed and the launcher has collected it.
expect 6 "exited with code 6; the others are ended" -n 3 --spare 1 sh -c '
    [ $BANYAN_RANK = 0 ] && exec sleep 60
    [ $BANYAN_RANK = 1 ] && echo $$ > first.part && mv first.part first && exit 5
    until [ -e first ] && ! [ -d /proc/$(cat first) ]; do sleep 0.02; done
    exit 6'
expect 3 "exited with code 3" -n 2 --spare 9 sh -c 'exit 3'
expect 5 "1 of the last group's 2 ranks is left on this side, and BANYAN_SHRINK=majority asks for more than half, or half with rank 0" \
    -n 2 --spare 1 sh -c '[ $BANYAN_RANK = 0 ] && exit 5; sleep 5'
expect 0 "the others go on" -n 2 --spare 1 sh -c '[ $BANYAN_RANK = 1 ] && exit 5; sleep 0.3'
BANYAN_SHRINK=any expect 0 "the others go on" -n 2 --spare 1 sh -c '[ $BANYAN_RANK = 0 ] && exit 5; sleep 0.3'
BANYAN_SHRINK=at_least:3 expect 5 "BANYAN_SHRINK=at_least:3 asks for" -n 3 --spare 1 sh -c '[ $BANYAN_RANK = 2 ] && exit 5; sleep 5'
BANYAN_SHRINK=most expect 2 "BANYAN_SHRINK: 'most' is not majority, any or at_least:N" -n 2 --spare 1 true
expect 2 '--spare: "x" is not an integer from 0 to 1024' --spare x true
expect 2 "no command is given"
expect 2 '--ranks: "0" is not an integer from 1 to 1024' -n 0 true
expect 2 "--timeout: " --timeout never true
expect 2 "--timeout: 0 is not above 0" --timeout 0 true
expect 2 "a test network is a tree of hosts, but" --net ring:4 true
expect 2 "--ranks 4, but hosts:2+3 has 5 workers" --net hosts:2+3 -n 4 true
expect 2 "host g1 has two cables" --net line:3 true
expect 2 "--hosts 2+x is not a list such as 2+3" --hosts 2+x true
expect 2 "--queue is for the cables of a test network" -n 2 --queue 100KB true
expect 2 "--queue: 1KB is not between 30000 and" --net hosts:1+1 --queue 1KB true
expect 2 "--mtu is for the cables of a test network" -n 2 --mtu 9000 true
expect 2 "--mtu: 10000 is not between 576 and 9000 bytes" --net hosts:1+1 --mtu 10000 true
expect 2 "--hosts and --net are two words" --hosts 1+1 --net hosts:1+1 true

# Signals go to all ranks, and their ends are reported as any other.
"$banyan" run -n 2 sh -c 'trap "echo told >> told; exit 0" TERM; echo $$ >> ready; while :; do sleep 0.05; done' &
job=$!
soon has_lines ready 2
kill -TERM $job
wait $job
check "a rank that ends well on a signal has ended well" [ $? = 0 ]
check "both were told" has_lines told 2
rm -f ready
"$banyan" run -q -n 2 sh -c 'echo $$ >> ready; sleep 60' &
job=$!
soon has_lines ready 2
kill -TERM $job
wait $job
code=$?
check "a job that was ended by a signal says so in its exit code ($code)" [ $code = 143 ]

# What a rank has started ends with it, and everything ends with the launcher, however it dies.
rm -f ready
"$banyan" run -n 2 sh -c 'sleep 1000 & echo $! >> ready; [ $BANYAN_RANK = 0 ]' 2> /dev/null
check "children of ranks end with them" soon all_gone $(cat ready)
rm -f ready
"$banyan" run -n 2 sh -c 'sleep 1000 & echo $! $$ >> ready; wait' &
job=$!
soon has_lines ready 2
kill -9 $job
wait $job 2> /dev/null
check "kill -9 of the launcher ends ranks and their children" soon all_gone $(cat ready)

# Test networks.
if [ "$(id -u)" != 0 ]; then
    expect 3 "a test network needs root" --net hosts:1+1 true
    echo "left out: test networks (not root)"
elif why=$(cannot_make_test_network "$banyan"); then
    echo "left out: $why"
else
    before=$(ip -o link; ip netns)
    expect 0 "[0] h0 h0 2 10.77.0.1:29400" --net hosts:2+3,gbps=1 --tag sh -c 'echo $(hostname) h0 $BANYAN_LOCAL_SIZE $BANYAN_ROOT'
    expect 0 "[4] h1 3 hosts:2+3,gbps=1" --net hosts:2+3,gbps=1 --tag sh -c 'echo $(hostname) $BANYAN_LOCAL_SIZE $BANYAN_TOPO'
    expect 0 "[4] h1 3 hosts:2+3,gbps=1" --hosts 2+3 --tag sh -c 'echo $(hostname) $BANYAN_LOCAL_SIZE $BANYAN_TOPO'
    expect 0 "rate 1Gbit burst 25000b" --net hosts:1+1,gbps=1 sh -c 'tc qdisc show dev eth0'
    expect 0 "lat 600us" --net hosts:1+1,gbps=1 --queue 100KB sh -c 'tc qdisc show dev eth0'
    expect 0 "mtu 9000" --net hosts:1+1,gbps=1 --mtu 9000 sh -c 'ip link show dev eth0'
    expect 0 "Out of bounds values : 0 OK" --net racks:2x2x1,gbps=1,rack_gbps=0.5 --queue 100KB --mtu 9000 "$banyan" bench -b 1M -e 1M --iters 8
    expect 0 "rate 200Mbit" --net hosts:1+1,gbps=1,degrade=h0:0.2 sh -c 'tc qdisc show dev eth0'
    expect 0 "rate 300Mbit" --net switch:3,gbps=0.3 sh -c 'tc qdisc show dev eth0'
    expect 0 "[3] 10.77.0.4" --net racks:2x2x1,gbps=1 --tag sh -c 'ip -4 -o addr show dev eth0 | grep -o "10[0-9.]*" | head -1'
    expect 0 "$place" --net hosts:1+1 pwd
    expect 0 "10.77.0.2 h1" --net hosts:1+1 cat /etc/hosts
    expect 0 "10.77.0.1" --net switch:1 sh -c 'echo $BANYAN_ROOT'
    expect 6 "exited with code 6" --net hosts:1+1+1 sh -c '[ $BANYAN_RANK = 1 ] && exit 6; sleep 60'
    mkdir nothing
    found=$(PATH=$place/nothing "$banyan" run --net hosts:1+1 true 2>&1)
    code=$?
    check "what is missing is named ($code, $found)" \
        [ "$code $found" = "3 banyan run: the tool ip is not installed (Debian has it in the package iproute2)" ]
    check "ranks of different hosts reach each other over the network" "$banyan" run --net hosts:1+1,gbps=1 bash -c '
        if [ $BANYAN_RANK = 0 ]; then
            for i in $(seq 100); do exec 3<> /dev/tcp/10.77.0.2/22222 && break; sleep 0.05; done 2> /dev/null
            read -r -t 10 word <&3 && [ "$word" = hello ]
        else
            exec python3 -c "import socket
s = socket.create_server((\"10.77.0.2\", 22222))
s.settimeout(10)
s.accept()[0].sendall(b\"hello\n\")"
        fi'
    rm -f ready
    "$banyan" run --net racks:2x2x1,gbps=1 sh -c 'readlink /proc/self/ns/net >> names; echo $$ >> ready; sleep 1000' &
    job=$!
    soon has_lines ready 4
    helpers=$(pgrep -P $job | tr '\n' ' ')
    kill -9 $job
    wait $job 2> /dev/null
    check "kill -9 of the launcher leaves no process of a test network" soon all_gone $(cat ready) $helpers
    check "four hosts were four networks" [ "$(sort -u names | wc -l)" = 4 ]
    nobody_in() { ! readlink /proc/[0-9]*/ns/net 2> /dev/null | grep -qxFf names; }
    check "nobody is left in those networks" soon nobody_in
    check "the machine's own interfaces and namespaces are as before" [ "$(ip -o link; ip netns)" = "$before" ]
    if command -v setpriv > /dev/null; then
        chmod 755 "$place"
        found=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$banyan" run --net hosts:1+1 true 2>&1)
        code=$?
        if [ $code = 3 ] || [ $code -lt 125 ]; then
            check "without root it says so ($found)" [ "$code:${found%%:*}" = "3:banyan run" ]
        fi
    fi
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
