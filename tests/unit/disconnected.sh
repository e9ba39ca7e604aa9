#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A network whose workers are not connected: verbs that plan say so in one sentence on standard error, which names two workers, and write
# nothing else but, with --json, the same sentence as JSON. Arguments: source folder, command line.
set -u
banyan=$2
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/net.json" << 'END'
{"format":"banyan-topology","version":1,"name":"two islands",
"nodes":[{"name":"a","kind":"worker"},{"name":"b","kind":"worker"},{"name":"c","kind":"worker"}],
"links":[{"src":"a","dst":"b","bytes_per_s":1e9,"latency_s":1e-06,"both":true}]}
END

# WORDS...: the verb and its options.
check() {
    "$banyan" "$@" "$folder/net.json" > "$folder/out" 2> "$folder/err"
    code=$?
    sentence=$(cat "$folder/err")
    [ $code = 2 ] || { echo "banyan $*: exit code $code"; failed=1; }
    case " $* " in
    *" --json "*) grep -qF '"error":"active worker c cannot be reached from a' "$folder/out" ;;
    *) [ ! -s "$folder/out" ] ;;
    esac || { echo "banyan $*: writes to standard output: $(head -2 "$folder/out")"; failed=1; }
    [ "$(wc -l < "$folder/err")" = 1 ] && [[ $sentence == "banyan $1: active worker c cannot be reached from a"* ]] ||
        { echo "banyan $*: says: $sentence"; failed=1; }
}

for verb in plan compare; do
    check $verb
    check $verb --json
    check $verb --effort patient
    check $verb --bytes 1KiB
    check $verb --collective allgather
    if command -v script > /dev/null; then
        first=$(script -qec "$banyan $verb $folder/net.json" /dev/null < /dev/null | head -1)
        [[ $first == *"banyan $verb: active worker c"* ]] || { echo "banyan $verb on a terminal begins with: $first"; failed=1; }
    fi
done
check plan --algo ring
check plan --format msccl
check compare --sizes 1KiB-1MiB
check bound
exit $failed
