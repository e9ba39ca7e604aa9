#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A cable is pulled while all processes live: packets vanish, nobody hears of it, connections are half open. Everybody
# must return in time, and those who still reach each other name the one that is gone. Needs root and network
# namespaces; elsewhere there is nothing to see. Arguments: source folder, command line.
set -u
. "$1/tests/test_network.sh"
banyan=$2
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export BANYAN_STATUS_FOLDER=off

complain() {
    echo "$*"
    failed=1
}

if why=$(cannot_make_test_network "$banyan"); then
    echo "skipped: $why"
    exit $skipped
fi

cat > "$folder/rank.sh" << 'END'
"$1" bench -b 1M -e 1M --iters 100000 --timeout 4s > "$2/out.$BANYAN_RANK" 2>&1 &
bench=$!
if [ "$BANYAN_RANK" = "$3" ]; then
    sleep 1.5
    ip link set eth0 down
fi
wait $bench
echo $? > "$2/code.$BANYAN_RANK"
END

# The victim's number; what rank 0 says.
cut() {
    rm -f "$folder"/code.* "$folder"/out.*
    SECONDS=0
    "$banyan" run --net hosts:1+1+1,gbps=1 --timeout 40s -- bash "$folder/rank.sh" "$banyan" "$folder" "$1" || complain "run: exit $?"
    [ $SECONDS -lt 38 ] || complain "rank $1 cut off: it took $SECONDS s"
    for rank in 0 1 2; do
        code=$(cat "$folder/code.$rank" 2> /dev/null)
        [ -n "$code" ] && [ "$code" != 0 ] || complain "rank $1 cut off: rank $rank ended with '$code'"
    done
    grep -q "$2" "$folder/out.0" || complain "rank $1 cut off: rank 0 does not say '$2': $(tail -1 "$folder/out.0")"
}

cut 2 "rank 2"
cut 0 "rank"
exit $failed
