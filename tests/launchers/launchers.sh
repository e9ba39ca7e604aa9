# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of launchers share. A test sources it with SOURCE and BANYAN as its first two words, starts its launcher's
# services if any, and calls check_launcher for each way of starting ranks.
banyan=$2
place=$(mktemp -d)
chmod 755 "$place"
passed=0 failed=0
export BANYAN_STATUS_FOLDER=off BANYAN_SOCKET_IFNAME=lo

skip() { # WHY
    echo "skipped: $*"
    exit 77
}

need() { # PROGRAM...
    local program
    for program; do command -v "$program" > /dev/null || skip "there is no $program"; done
}

free_ports() { # that many of this machine, found by the system
    python3 -c 'import socket, sys
s = [socket.create_server(("127.0.0.1", 0)) for i in range(int(sys.argv[1]))]
print(*(x.getsockname()[1] for x in s))' "$1"
}

complain() { # WHAT, with the output in $place/out
    echo "FAILED: $*"
    tail -n 12 "$place/out" | sed 's/^/  | /'
    failed=$((failed + 1))
}

# Ranks start, compute and end; all of them, with the right sums.
check_bench() { # WHAT COMMAND...
    local what=$1
    shift
    if ! timeout 300 "$@" "$banyan" bench -b 1KiB -e 1KiB --iters 3 > "$place/out" 2>&1; then
        complain "$what: banyan bench failed"
    elif ! grep -q 'Out of bounds values : 0 OK' "$place/out"; then
        complain "$what: the sums are wrong, or there are none"
    else
        passed=$((passed + 1))
    fi
}

# A rank is killed while ranks compute: the others end, and one of them names it.
check_kill() { # WHAT VICTIM COMMAND...
    local what=$1 victim=$2 code
    shift 2
    cat > "$place/rank" << 'RANK'
#!/bin/bash
# The rank that is to die knows itself by the launcher's variables.
me=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-${PMIX_RANK:-0}}}}}
banyan=$1 place=$2 victim=$3
"$banyan" bench -b 1MiB -e 1MiB --iters 1000000 --check 0 > "$place/log-$me" 2>&1 &
pid=$!
if [ "$me" = "$victim" ]; then
    for i in $(seq 600); do
        grep -q . "$place/log-0" 2> /dev/null && break
        sleep 0.1
    done
    sleep 2
    kill -9 $pid
    sleep 10 # launchers end the others when a rank has ended badly: they shall be able to say why before
fi
wait $pid
RANK
    chmod 755 "$place/rank"
    rm -f "$place"/log-*
    timeout 300 "$@" "$place/rank" "$banyan" "$place" "$victim" > "$place/out" 2>&1
    code=$?
    cat "$place"/log-* >> "$place/out" 2> /dev/null
    if [ $code = 0 ] || [ $code = 124 ]; then
        complain "$what: a job whose rank $victim was killed ended with $code"
    elif ! grep -q "rank $victim .*process" "$place/out"; then
        complain "$what: nobody named rank $victim, which was killed"
    else
        passed=$((passed + 1))
    fi
}

check_launcher() { # WHAT COMMAND...
    local what=$1
    shift
    check_bench "$what" "$@"
    check_kill "$what" 0 "$@"
    check_kill "$what" 1 "$@"
}

conclude() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
}
