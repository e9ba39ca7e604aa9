#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A fabric that ibsim simulates is discovered by ibnetdiscover and imported: the network is the one that was simulated.
# Arguments: source folder, command line.
set -u
banyan=$2
for program in ibsim ibsim-run ibnetdiscover; do
    PATH=$PATH:/usr/sbin command -v $program > /dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
PATH=$PATH:/usr/sbin
place=$(mktemp -d)
simulator=
trap '[ -z "$simulator" ] || kill "$simulator" 2> /dev/null; rm -rf "$place"' EXIT

# Two leaves of three and two hosts; leaf0 has two cables to the spine, leaf1 one.
link() { # DEVICE PORT DEVICE PORT
    echo "[$2] \"$3\"[$4]" >> "$place/$1"
    echo "[$4] \"$1\"[$2]" >> "$place/$3"
}
for host in 0 1 2; do link leaf0 $((host + 1)) node$host 1; done
for host in 3 4; do link leaf1 $((host - 2)) node$host 1; done
link leaf0 5 spine 1
link leaf0 6 spine 2
link leaf1 5 spine 3
for device in leaf0 leaf1 spine; do printf 'Switch 8 "%s"\n%s\n\n' $device "$(cat "$place/$device")"; done > "$place/net"
for host in 0 1 2 3 4; do printf 'Hca 2 "node%s"\n%s\n\n' $host "$(cat "$place/node$host")"; done >> "$place/net"

# Its console would end with its input; the socket that clients use is named for the user's choice.
export IBSIM_SOCKNAME=banyan-$$ SIM_HOST=node0
mkfifo "$place/console"
ibsim -s "$place/net" < "$place/console" > "$place/ibsim.log" 2>&1 &
simulator=$!
exec 9> "$place/console"
for attempt in $(seq 100); do
    timeout 30 ibsim-run ibnetdiscover > "$place/fabric" 2> "$place/log" && [ -s "$place/fabric" ] && break
    kill -0 "$simulator" 2> /dev/null || break
    sleep 0.1
done
if [ ! -s "$place/fabric" ]; then
    echo "skipped: the simulated fabric cannot be discovered here: $(tail -n 1 "$place/log")"
    exit 77
fi

facts=$("$banyan" topo show "$place/fabric" --json) || exit 1
direct=$("$banyan" topo show "$place/net" --json) || exit 1
for fact in '"workers":5,' '"switches":3,' '"links":16,' '"slowest_bytes_per_s":1e+09'; do
    [[ $facts == *$fact* ]] || { echo "the discovered fabric is $facts, without $fact"; exit 1; }
done
[[ $direct == *'"workers":5,"switches":3,"links":16,'* ]] || { echo "the simulator's file is read as $direct"; exit 1; }
"$banyan" topo convert "$place/fabric" > "$place/fabric.json" || exit 1
for name in node0 node4 leaf0 spine; do
    grep -q "\"$name\"" "$place/fabric.json" || { echo "there is no $name in the imported network"; exit 1; }
done
"$banyan" topo check "$place/fabric" --quiet || exit 1
echo "a simulated InfiniBand fabric is imported as it is"
