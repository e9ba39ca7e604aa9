#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A /proc of another PID namespace shows other processes under the numbers of ours: a test network is refused there, and the
# network of those others stays as it is. Needs root and namespaces. Arguments: source folder, command line.
set -u
. "$1/tests/test_network.sh"
banyan=$2

if why=$(cannot_make_test_network "$banyan"); then
    echo "skipped: $why"
    exit $skipped
fi
if ! why=$(unshare -n -m -p -f --mount-proc true 2>&1); then
    echo "skipped: no PID namespace can be made here: $why"
    exit $skipped
fi

# Inside of two PID namespaces with the /proc of the outer one, where the numbers that the inner one gives are those of
# processes that sleep.
said=$(unshare -n -m -p -f --mount-proc bash -c '
    for i in {1..30}; do sleep 100 & done
    unshare -p -f "$0" run --net hosts:1+1,gbps=1 true
    echo "exit $?, $(ip link show | grep -c mtu) links"' "$banyan" 2>&1)
case $said in
*"/proc has the processes of another PID namespace: in it, this process is "*"exit 3, 1 links"*)
    echo "a test network is refused where /proc is another namespace's"
    ;;
*)
    echo "$said"
    exit 1
    ;;
esac
