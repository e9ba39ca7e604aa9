/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/tables.h: the symbols that NCCL looks for. */
#ifndef BANYAN_NCCL_TABLES_H
#define BANYAN_NCCL_TABLES_H

#include "nccl/interface.h"

#define BANYAN_NCCL_SYMBOL extern __attribute__((visibility("default")))

BANYAN_NCCL_SYMBOL const nccl_net_v6 ncclNetPlugin_v6;
BANYAN_NCCL_SYMBOL const nccl_net_v7 ncclNetPlugin_v7;
BANYAN_NCCL_SYMBOL const nccl_net_v8 ncclNetPlugin_v8;
BANYAN_NCCL_SYMBOL const nccl_net_v9 ncclNetPlugin_v9;
BANYAN_NCCL_SYMBOL const nccl_net_v10 ncclNetPlugin_v10;
BANYAN_NCCL_SYMBOL const nccl_net_v11 ncclNetPlugin_v11;
BANYAN_NCCL_SYMBOL const nccl_net_v12 ncclNetPlugin_v12;
BANYAN_NCCL_SYMBOL const nccl_collnet_v6 ncclCollNetPlugin_v6;
BANYAN_NCCL_SYMBOL const nccl_collnet_v7 ncclCollNetPlugin_v7;
BANYAN_NCCL_SYMBOL const nccl_collnet_v8 ncclCollNetPlugin_v8;
BANYAN_NCCL_SYMBOL const nccl_collnet_v9 ncclCollNetPlugin_v9;
BANYAN_NCCL_SYMBOL const nccl_collnet_v9 ncclCollNetPlugin_v10;
BANYAN_NCCL_SYMBOL const nccl_collnet_v11 ncclCollNetPlugin_v11;
BANYAN_NCCL_SYMBOL const nccl_collnet_v12 ncclCollNetPlugin_v12;
BANYAN_NCCL_SYMBOL const nccl_tuner_v2 ncclTunerPlugin_v2;
BANYAN_NCCL_SYMBOL const nccl_tuner_v3 ncclTunerPlugin_v3;
BANYAN_NCCL_SYMBOL const nccl_tuner_v4 ncclTunerPlugin_v4;
BANYAN_NCCL_SYMBOL const nccl_tuner_v5 ncclTunerPlugin_v5;
BANYAN_NCCL_SYMBOL const nccl_tuner_v6 ncclTunerPlugin_v6;

#endif
