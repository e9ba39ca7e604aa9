/* SPDX-License-Identifier: Apache-2.0 */
/* transport/memory.h: where the threads of one process meet. */
#ifndef BANYAN_TRANSPORT_MEMORY_H
#define BANYAN_TRANSPORT_MEMORY_H

#include "transport/transport.h"

extern const banyan_transport banyan_transport_memory;

typedef struct banyan_memory_hub banyan_memory_hub;

/* Give it to each member's opening. It must outlive the endpoints. */
banyan_status banyan_memory_hub_create(int member_count, banyan_memory_hub **out, banyan_error *err);
void banyan_memory_hub_destroy(banyan_memory_hub *hub); /* accepts NULL */

#endif
