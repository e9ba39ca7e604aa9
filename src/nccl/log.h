/* SPDX-License-Identifier: Apache-2.0 */
/* nccl/log.h: sentences into NCCL's own log (NCCL_DEBUG), where users of NCCL look. NCCL hands its logger to
 * every init; they are all the same function. */
#ifndef BANYAN_NCCL_LOG_H
#define BANYAN_NCCL_LOG_H

#include "nccl/interface.h"

void banyan_nccl_log_use(nccl_logger logger); /* NULL: nobody listens */

void banyan_nccl_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void banyan_nccl_info(unsigned long subjects, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
