#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# banyan nccl-env and banyan run --nccl: a shell that evaluates the lines has the variables, whatever is in them; the plugin that they name is there and
# has the tables; torch finds its own variables. Arguments: source folder, command line.
set -u
banyan=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
failed=0
unset NCCL_SOCKET_IFNAME BANYAN_SOCKET_IFNAME BANYAN_TOPO

complain() {
    echo "$*"
    failed=1
}

(
    eval "$("$banyan" nccl-env)"
    [ "$NCCL_COLLNET_ENABLE" = 1 ] && [ "$NCCL_ALGO" = allreduce:collnetchain ] && [ -z "${BANYAN_TOPO-}" ] &&
        [ "${NCCL_NET_PLUGIN:0:1}" = / ] && nm -D "$NCCL_NET_PLUGIN" | grep -q ' ncclCollNetPlugin_v11$'
) || complain "the variables are not right: $("$banyan" nccl-env)"

odd="a file's \"name\" \$HOME \`x\` ; *"
(
    export BANYAN_TOPO=$odd NCCL_SOCKET_IFNAME==eth0
    eval "$(env -u NONE "$banyan" nccl-env --choose)"
    [ "$BANYAN_TOPO" = "$odd" ] && [ "$BANYAN_SOCKET_IFNAME" = =eth0 ] && [ -z "${NCCL_ALGO-}" ] &&
        [ "$NCCL_TUNER_PLUGIN" = "$NCCL_NET_PLUGIN" ]
) || complain "odd values do not come through: $(BANYAN_TOPO=$odd "$banyan" nccl-env)"

"$banyan" nccl-env --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["NCCL_COLLNET_ENABLE"] == "1"' ||
    complain "--json is not JSON"

got=$("$banyan" run -n 2 --nccl sh -c 'echo "$RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $NCCL_COLLNET_ENABLE ${NCCL_NET_PLUGIN##*/}"' | sort)
expected="0 2 0 127.0.0.1 1 libnccl-net-banyan.so
1 2 1 127.0.0.1 1 libnccl-net-banyan.so"
[ "$got" = "$expected" ] || complain "run --nccl: $got"
[ "$(NCCL_ALGO=ring "$banyan" run -n 1 --nccl sh -c 'echo $NCCL_ALGO')" = ring ] || complain "run --nccl overrides the user's NCCL_ALGO"
[ -z "$("$banyan" run -n 1 sh -c 'echo ${NCCL_NET_PLUGIN-}')" ] || complain "run without --nccl sets NCCL's variables"

[ $failed = 0 ] && echo "NCCL's variables are right"
exit $failed
