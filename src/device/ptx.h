/* SPDX-License-Identifier: Apache-2.0 */
/* device/ptx.h: the reduce kernel as text that CUDA's driver compiles (device/ptx/, made of
 * device/reduce.cu). */
#ifndef BANYAN_DEVICE_PTX_H
#define BANYAN_DEVICE_PTX_H

#include <banyan/banyan.h>

#include "core/status.h"

/* Ends with a NUL; NULL for numbers outside the list. */
const char *banyan_device_ptx(banyan_datatype type);

#endif
