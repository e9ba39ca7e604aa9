# SPDX-License-Identifier: Apache-2.0
# For scripts/test.sh and scripts/check-long.sh, which read it in: stages, of which one that fails does not keep the others from
# running, and one that needs a program that is not there is skipped with a sentence; at the end a line for each.
jobs=${JOBS:-2}
skipped=77
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# NAME FUNCTION: runs it and notes how it ended, how long it took, and its CPU time.
stage() {
    printf '\n== %s\n' "$1"
    begin=$(date +%s)
    times > "$place/times" # the second line: those of all that this shell has run
    : > "$place/why"
    (set -e && "$2")
    case $? in
    0) result=passed ;;
    "$skipped") result=skipped ;;
    *) result=failed ;;
    esac
    seconds=$(($(date +%s) - begin))
    times >> "$place/times"
    cpu=$(awk -F '[ms ]+' '{ seconds[NR] = 60 * ($1 + $3) + $2 + $4 } END { print int(seconds[4] - seconds[2]) }' "$place/times")
    printf '%-8s %4d s  %4d s of CPU  %s%s\n' $result $seconds "$cpu" "$1" "$(cat "$place/why")" | tee -a "$place/summary"
}

needs() { # PROGRAM
    command -v "$1" > /dev/null && return
    echo ": $1 is not installed" > "$place/why"
    echo "skipped: $1 is not installed"
    exit $skipped
}

build() { # PRESET [TARGET...]
    preset=$1
    shift
    echo "building $preset"
    cmake --preset "$preset" --log-level=NOTICE > /dev/null
    cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"} -- --quiet -k 0
}

end_of_stages() {
    printf '\n== stages\n'
    cat "$place/summary"
    awk '{ seconds += $2; cpu += $4; failed += $1 == "failed" }
        END { printf "%s after %.1f minutes, %.1f of CPU\n", failed ? failed " of " NR " stages failed" : "all is well", seconds / 60, cpu / 60
              exit failed > 0 }' "$place/summary"
}
