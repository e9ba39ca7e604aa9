/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/setup.h: what a config, the environment and the defaults amount to. */
#ifndef BANYAN_BOOTSTRAP_SETUP_H
#define BANYAN_BOOTSTRAP_SETUP_H

#include "core/log.h"
#include "core/status.h"
#include "planner/choice.h"
#include "planner/wisdom.h"
#include "topology/topology.h"

/* Instead of a network's name: measure it. */
#define BANYAN_TOPO_PROBE "probe"

enum { BANYAN_LEARN_NEVER, BANYAN_LEARN_ALWAYS, BANYAN_LEARN_ONCE };

typedef struct {
    banyan_topology *topology;
    int *active; /* node of rank r */
    int size;
    char *algorithm; /* as BANYAN_ALGO, and what it says of each collective */
    banyan_choice choices[BANYAN_COLLECTIVE_COUNT];
    char *transport; /* as BANYAN_TRANSPORT */
    char *shrink;    /* as BANYAN_SHRINK, and the same as a rule of bootstrap/quorum.h */
    int quorum;
    int learn;              /* as BANYAN_LEARN; LEARN_NEVER also where results must not change */
    _Atomic int timeout_ms; /* banyan_comm_set_timeout changes it while other threads make calls */
    size_t slice_bytes;
    int is_default_topology; /* nobody said what the network is, */
    int is_measured;         /* but it has been learnt (calls/learning.h) */
    int has_no_relays;       /* only ranks, and the workers in relays, can take part */
    int *relays;             /* nodes that processes serve which are no ranks (banyan_comm_relay) */
    int relay_count;
    char *wisdom_file; /* "": none */
    banyan_log *log;   /* NULL: nobody wants one */
    const banyan_wisdom_entry
        *forced;     /* borrowed: what to plan, whatever is better (banyan tune); NULL: nothing */
    int wants_probe; /* the network is to be measured (calls/probing.c) */
} banyan_setup;

/* config may be NULL. On failure out is empty. */
banyan_status banyan_setup_init(banyan_setup *out, const banyan_config *config, int size, banyan_error *err);
/* The same for some ranks of a group, ranks[i] becoming rank i: on the group's network, unless the config
 * says another. Where the order of ranks is not that of the network's workers, it is as if nobody had
 * said. */
banyan_status banyan_setup_inherit(banyan_setup *out, const banyan_setup *parent, const banyan_config *config,
                                   const int *ranks, int count, banyan_error *err);

/* Which ranks of a group may go on after a loss: as the config says, else as the group was set up. */
banyan_status banyan_setup_quorum(const banyan_setup *parent, const banyan_config *config, int *rule,
                                  banyan_error *err);

/* The network as the names of the ranks' hosts suggest it, where nobody has said what it is: each host's
 * ranks close together, hosts on one switch. names[r] is rank r's host. */
banyan_status banyan_setup_use_hosts(banyan_setup *setup, const char *const *names, banyan_error *err);

/* When the rank is known. */
banyan_status banyan_setup_open_log(banyan_setup *setup, int rank, banyan_error *err);
void banyan_setup_fini(banyan_setup *setup);

#endif
