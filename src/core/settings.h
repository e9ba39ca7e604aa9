/* SPDX-License-Identifier: Apache-2.0 */
/* core/settings.h: everything a user can set from outside, in one table.
 *
 * A value comes from the first of these that has one:
 *   1. the program (banyan_settings_set)
 *   2. the environment, BANYAN_*
 *   3. the file that BANYAN_CONF_FILE names
 *   4. ~/.banyan.conf
 *   5. /etc/banyan.conf
 *   6. the table's default
 * A file has one NAME=VALUE a line; empty lines and lines that begin with # are skipped. Settings are loaded
 * once and only read afterwards, so threads share them without locks. */
#ifndef BANYAN_CORE_SETTINGS_H
#define BANYAN_CORE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

/* X(NAME, TYPE, default, form, text): BANYAN_NAME in the environment, BANYAN_SETTING_NAME in the code. form
 * is what is allowed: 'A|B' for a choice, 'LOW..HIGH' for numbers, NULL for any string. */
#define BANYAN_SETTING_MAP(X)                                                                                \
    X(DEBUG, CHOICE, "NONE", "NONE|VERSION|WARN|INFO|TRACE", "how much is logged")                           \
    X(DEBUG_SUBSYS, STRING, "INIT,BOOTSTRAP,ENV,GRAPH,TUNING", NULL,                                         \
      "what INFO and TRACE lines are about: INIT, BOOTSTRAP, ENV, GRAPH, PLAN, TUNING, COLL, NET, SHM, RAS " \
      "or ALL, separated by commas; ^ in front means all but these")                                         \
    X(DEBUG_FILE, STRING, "stdout", NULL,                                                                    \
      "where the log goes: stdout, stderr or a file, with %h for the host and %p for the process id")        \
    X(TOPO, STRING, "", NULL,                                                                                \
      "the network: a file, a generator such as hosts:2+3, or probe to measure it; empty: by hosts")         \
    X(LEARN, CHOICE, "1", "0|1|once",                                                                        \
      "whether a group that was told no network learns it while it works, and plans anew: 0 never, 1 "       \
      "always, "                                                                                             \
      "once at its beginning")                                                                               \
    X(LEARN_FOLDER, STRING, "", NULL,                                                                        \
      "where rank 0 keeps the networks that were learnt, for the next job of the same hosts; empty: "        \
      "nowhere")                                                                                             \
    X(LEARN_SECONDS, SECONDS, "0", "0..3600",                                                                \
      "what the measurements of one survey may take; rank 0's counts; 0: what they need")                    \
    X(LEARN_BYTES, BYTES, "0", "0..1099511627776",                                                           \
      "what all ranks together may send in one survey; rank 0's counts; 0: what it needs")                   \
    X(DETERMINISTIC, BOOLEAN, "0", "0|1",                                                                    \
      "1: the same bits in every run, and for an element in every vector: one order of additions")           \
    X(WISDOM_FILE, STRING, "", NULL, "choices that banyan tune has kept; rank 0 reads it")                   \
    X(LOCAL_RANK, INTEGER, "-1", "-1..1048575", "this process among the ranks of its host; -1: not said")    \
    X(LOCAL_SIZE, INTEGER, "0", "0..1048576", "how many ranks its host has; 0: not said")                    \
    X(ALGO, STRING, "auto", NULL,                                                                            \
      "the algorithm, or auto for the best prediction; also COLLECTIVE:NAME,...")                            \
    X(TIMEOUT_MS, MILLISECONDS, "30000", "1..86400000", "time limit of each call")                           \
    X(SLICE_BYTES, BYTES, "128KiB", "64..1073741824",                                                        \
      "a transfer is sent in slices of this size, so that the next hop starts before it has all arrived")    \
    X(SHRINK, STRING, "majority", NULL,                                                                      \
      "which ranks may go on after a loss: majority of the last group, any or at_least:N")                   \
    X(TRANSPORT, CHOICE, "auto", "auto|shm|tcp|ucx|mpi|shm+tcp|shm+ucx|shm+mpi",                             \
      "what carries bytes between processes; auto: shm within a host, tcp between hosts")                    \
    X(GPU, CHOICE, "auto", "auto|cuda|hip|emulated|off",                                                     \
      "whose GPUs are used; auto: those that are there; emulated: the host's memory instead, for tests")     \
    X(GPU_PATH, CHOICE, "auto", "auto|staged",                                                               \
      "how vectors on GPUs travel; auto: from GPU to GPU where all ranks can; staged: through the host")     \
    X(GPU_CHUNK, BYTES, "4MiB", "65536..268435456",                                                          \
      "what goes through the host at a time where vectors on GPUs are staged; rank 0's counts")              \
    X(GPU_LANES, INTEGER, "0", "0..4",                                                                       \
      "how many chunks of a staged vector are summed up at a time; 0: two where there are cores, else one")  \
    X(MESSAGE_BYTES, BYTES, "128KiB", "4096..16777216", "the longest message over ucx and mpi")              \
    X(MPI, CHOICE, "auto", "auto|openmpi|mpich", "which MPI carries bytes; auto: the one that runs us")      \
    X(PLUGIN_FOLDER, STRING, "", NULL,                                                                       \
      "where banyan-lp.so and banyan-transport-*.so are; empty: beside the library or the program")          \
    X(SOCKET_IFNAME, STRING, "", NULL,                                                                       \
      "which interface others reach us at: eth, =eth0,eth1, ^docker,lo, an address or a network such as "    \
      "10.1.0.0/16; empty: the one that leads to rank 0")                                                    \
    X(SOCKET_FAMILY, CHOICE, "any", "any|AF_INET|AF_INET6", "IPv4 or IPv6 alone")                            \
    X(PORT_RANGE, STRING, "", NULL, "ports to listen on, such as 50000-50100; empty: any")                   \
    X(TCP_CONNECTIONS, INTEGER, "1", "1..16", "TCP connections between two ranks, over each interface")      \
    X(TCP_WINDOW, BYTES, "0", "0..1073741824",                                                               \
      "what a stream may have under way over TCP, at least 4096; 0: what suits the network")                 \
    X(TCP_PACING, BOOLEAN, "1", "0|1",                                                                       \
      "connections send no faster than the plan needs, where the network is known and that pays")            \
    X(TCP_BUFFER, BYTES, "0", "0..1073741824", "size of socket buffers; 0: the kernel sizes them itself")    \
    X(NCCL_LANES, INTEGER, "4", "1..16", "how many of NCCL's calls go on at a time between the nodes")       \
    X(RANK, INTEGER, "-1", "-1..1048575", "this process's rank, for jobs without another launcher")          \
    X(SIZE, INTEGER, "0", "0..1048576", "how many ranks the job has, together with BANYAN_RANK")             \
    X(ROOT, STRING, "", NULL, "where ranks meet: HOST:PORT of rank 0, or file:PATH, pmix, pmi")              \
    X(SECRET, HIDDEN, "", NULL, "what the processes of the job prove to each other that they know")          \
    X(SECRET_FILE, STRING, "", NULL, "a file with the secret, readable by its owner alone")                  \
    X(CONTROL_FANOUT, INTEGER, "16", "2..32",                                                                \
      "how many ranks report to one; with more ranks than that they form a tree below rank 0")               \
    X(STATUS_FOLDER, STRING, "", NULL,                                                                       \
      "where banyan status finds the ranks of a job; off: nowhere; empty: /tmp/banyan-UID")                  \
    X(CONF_FILE, STRING, "", NULL, "a file of settings, read before ~/.banyan.conf and /etc/banyan.conf")    \
    X(COLOR, CHOICE, "auto", "auto|always|never", "colours on a terminal")

typedef enum {
    BANYAN_SETTING_STRING,
    BANYAN_SETTING_INTEGER,
    BANYAN_SETTING_BYTES,
    BANYAN_SETTING_SECONDS,
    BANYAN_SETTING_MILLISECONDS,
    BANYAN_SETTING_BOOLEAN,
    BANYAN_SETTING_CHOICE,
    BANYAN_SETTING_HIDDEN /* a string that is never shown */
} banyan_setting_type;

typedef enum {
#define BANYAN_SETTING_ENTRY(name, type, fallback, form, text) BANYAN_SETTING_##name,
    BANYAN_SETTING_MAP(BANYAN_SETTING_ENTRY)
#undef BANYAN_SETTING_ENTRY
        BANYAN_SETTING_COUNT
} banyan_setting;

typedef struct {
    const char *name; /* 'BANYAN_TIMEOUT_MS' */
    banyan_setting_type type;
    const char *fallback; /* the default, as one would write it */
    const char *form;     /* what is allowed, or NULL */
    const char *summary;
} banyan_setting_info;

const banyan_setting_info *banyan_setting_at(banyan_setting setting);
const char *banyan_setting_type_name(banyan_setting_type type); /* 'milliseconds' */
int banyan_setting_find(const char *name);                      /* -1: no such setting */

typedef struct banyan_settings banyan_settings;

/* Where settings are read from; the real ones are banyan_settings_load's. NULL: that source is not there. */
typedef struct {
    const char *const *environment; /* 'NAME=VALUE' strings, ends with NULL */
    const char *conf_file;          /* before the environment's BANYAN_CONF_FILE */
    const char *home_file, *system_file;
} banyan_settings_sources;

/* A variable that is not ours, such as a launcher's; NULL: it is not set. */
const char *banyan_environment(const char *name);

/* The only reading of the environment in the library. A wrong value is INVALID_ARGUMENT with a sentence that
 * names the setting, the value and where it stands. */
banyan_status banyan_settings_load(banyan_settings **out, banyan_error *err);
banyan_status banyan_settings_load_from(const banyan_settings_sources *sources, banyan_settings **out,
                                        banyan_error *err);
void banyan_settings_destroy(banyan_settings *settings); /* accepts NULL */

/* The program's word, above all others. BANYAN_CONF_FILE is refused: files have been read by then. */
banyan_status banyan_settings_set(banyan_settings *settings, banyan_setting setting, const char *value,
                                  banyan_error *err);

/* The value as it was written; never NULL, borrowed. shown is the same for people's eyes: a secret is
 * '***'. */
const char *banyan_settings_shown(const banyan_settings *settings, banyan_setting setting);
const char *banyan_settings_string(const banyan_settings *settings, banyan_setting setting);

/* Integers, bytes, milliseconds; 0 and 1 for a boolean; the index in the form for a choice. */
int64_t banyan_settings_integer(const banyan_settings *settings, banyan_setting setting);

double banyan_settings_seconds(const banyan_settings *settings, banyan_setting setting); /* both time types */

/* 'default', 'environment', 'program', or the file and line; borrowed. */
const char *banyan_settings_origin(const banyan_settings *settings, banyan_setting setting);
int banyan_settings_is_default(const banyan_settings *settings, banyan_setting setting);

/* Names that begin with BANYAN_ but are no setting, one sentence each with a hint where a name is near. */
int banyan_settings_warning_count(const banyan_settings *settings);
const char *banyan_settings_warning(const banyan_settings *settings, int i);

/* All settings with type, default, value and origin, in the form of a settings file; the caller frees it. */
banyan_status banyan_settings_format(const banyan_settings *settings, char **out, banyan_error *err);

#endif
