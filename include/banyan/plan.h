/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: plan, bound, verify and predict collectives on any network, without a communicator.
 *
 *     topology --> plan --> schedule --> verdict, prediction, export
 *            \--> bounds
 *
 * Handles are opaque and never change once they are made, so threads may share them without locks; every
 * call here may be made from any thread. Whoever makes a handle destroys it, and destroy accepts NULL. No
 * call keeps its arguments: handles do not refer to each other. Texts that a call returns in a char ** are
 * freed with banyan_free; texts inside an info struct belong to the handle and live as long as it does.
 *
 * A call that fails returns a status, sets its output to NULL and writes one sentence into *err, which may
 * be NULL.
 *
 * INVALID_ARGUMENT   a name, size, file or network is wrong, or an argument is NULL
 * PLAN_INVALID       a schedule or a bound does not prove what it claims, or a check failed
 * UNSUPPORTED        the algorithm does not apply to this network, the network is too large, or the linear
 *                    program solver (banyan-lp.so) that this plan needs is missing
 * TIMEOUT            planning took longer than config.timeout_ms allows
 * VERSION_MISMATCH   a struct comes from a newer header than this library knows
 * SYSTEM_ERROR       memory ran out, or a file cannot be read or written
 *
 * The library links no linear program solver: it loads banyan-lp.so when a plan or a bound needs one. */
#ifndef BANYAN_PLAN_H
#define BANYAN_PLAN_H

#include <banyan/banyan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Networks. */
typedef struct banyan_topology banyan_topology;

/* From anything that the command line accepts as SPEC: a file (JSON, or another form that is told from
 * its content) or a generator such as "hosts:2+3,gbps=10", either with damage such as ",down=g0-g1" or
 * ",degrade=h0-net:0.5". */
BANYAN_API banyan_status banyan_topology_load(const char *spec, banyan_topology **out, banyan_error *err);

/* From a generator only; no file is looked for. The network's name is the string. */
BANYAN_API banyan_status banyan_topology_generate(const char *spec, banyan_topology **out, banyan_error *err);

/* From a file in one form: "json", or one that 'banyan list imports' names, such as "nccl" or "slurm". */
BANYAN_API banyan_status banyan_topology_import(const char *path, const char *form, banyan_topology **out,
                                                banyan_error *err);

/* From the text of a JSON file (banyan-topology(5)). */
BANYAN_API banyan_status banyan_topology_parse(const char *text, size_t length, banyan_topology **out,
                                               banyan_error *err);

/* This machine, as hwloc sees it. */
BANYAN_API banyan_status banyan_topology_discover(banyan_topology **out, banyan_error *err);

/* A copy with damage: "down=g0-g1,degrade=h0-net:0.5". */
BANYAN_API banyan_status banyan_topology_damage(const banyan_topology *topology, const char *damage,
                                                banyan_topology **out, banyan_error *err);

BANYAN_API void banyan_topology_destroy(banyan_topology *topology);

/* As text: "json", "text" (a drawing), "dot" or "svg". */
BANYAN_API banyan_status banyan_topology_export(const banyan_topology *topology, const char *format,
                                                char **out, banyan_error *err);

/* Writes the JSON form to a file. */
BANYAN_API banyan_status banyan_topology_save(const banyan_topology *topology, const char *path,
                                              banyan_error *err);

/* INVALID_ARGUMENT with the names of two workers unless all active workers can reach one another: nothing can
 * be planned for them. active: "0,1,4-7", names, or NULL for all workers; *count, where it is not NULL,
 * receives how many they are. */
BANYAN_API banyan_status banyan_topology_check(const banyan_topology *topology, const char *active,
                                               int *count, banyan_error *err);

/* Infos are filled in up to the size that the caller's header knows: set size to sizeof of the struct. */
typedef struct {
    size_t size;
    const char *name;
    int node_count; /* nodes are numbered from 0: workers and switches */
    int worker_count;
    int host_count;
    int link_count; /* links are one way; a full-duplex cable is two */
    double slowest_bytes_per_s, fastest_bytes_per_s;
    char digest[24]; /* the same for two networks that planners see as the same */
} banyan_topology_info;

BANYAN_API banyan_status banyan_topology_get_info(const banyan_topology *topology, banyan_topology_info *info,
                                                  banyan_error *err);

/* The caller's arrays, of node_count and link_count entries; those that are NULL are left out. */
typedef struct {
    size_t size;
    int *node_is_switch;
    int *node_host; /* number of the host, or -1 */
    int *link_src, *link_dst;
    double *link_bytes_per_s, *link_latency_s;
} banyan_topology_arrays;

BANYAN_API banyan_status banyan_topology_get_arrays(const banyan_topology *topology,
                                                    const banyan_topology_arrays *arrays, banyan_error *err);

/* NULL: there is no such node. */
BANYAN_API const char *banyan_topology_node_name(const banyan_topology *topology, int node);

/* "g0->s0" into the caller's buffer, which is returned; "" where there is no such link. */
BANYAN_API const char *banyan_topology_link_name(const banyan_topology *topology, int link, char *buffer,
                                                 size_t bytes);

/* Bounds: no algorithm on this network is faster. */
typedef struct banyan_bounds banyan_bounds;

/* Configs begin with their initializer. What is NULL or 0 takes its default. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    const char *active; /* workers that hold data: "0,1,4-7" or names; default: all */
    const char *relays; /* what idle workers do: "add" (default), "forward" or "none" */
    /* "patient" searches for a lower bound where idle workers help; default: "measure" */
    const char *effort;
    /* reduce and broadcast: NULL: any plan; "pipelined", "sequential" or "overlap": the best plan
     * in such stages, which is no bound on others, and of all-reduce alone */
    const char *stages;
    size_t bytes; /* of the vector in question; default: 64 MiB */
    /* "allreduce": that rate alone, which is quicker: the others are NaN, there is no JSON, and the
     * certificate is not checked again; default: all */
    const char *collective;
} banyan_bounds_config;

#define BANYAN_BOUNDS_CONFIG_MAGIC 0xba27a202u
#define BANYAN_BOUNDS_CONFIG_INITIALIZER                                                                     \
    {                                                                                                        \
        sizeof(banyan_bounds_config), BANYAN_BOUNDS_CONFIG_MAGIC, BANYAN_VERSION_CODE, NULL, NULL, NULL,     \
            NULL, 0, NULL                                                                                    \
    }

/* What is returned is what the certificates prove. config may be NULL. */
BANYAN_API banyan_status banyan_bounds_create(const banyan_topology *topology,
                                              const banyan_bounds_config *config, banyan_bounds **out,
                                              banyan_error *err);
BANYAN_API void banyan_bounds_destroy(banyan_bounds *bounds);

/* Rates are bytes of vector per second for large vectors, infinite for one worker alone, and NaN where
 * not asked for. bytes / rate is the least time of a vector. */
typedef struct {
    size_t size;
    int active_count;
    double allreduce_bytes_per_s, allgather_bytes_per_s, reducescatter_bytes_per_s;
    /* 1: some plan is known to reach the rate; 0: nobody knows */
    int allreduce_is_tight, allgather_is_tight, reducescatter_is_tight;
    double stages_bytes_per_s; /* with stages: the sum of the roots' shares; else NaN */
    int is_proven;             /* 0: with stages, where the cheapest trees could not be searched fully */
    double reached_share;      /* with stages: the share for which trees were found; else NaN */
    const char *explanation;   /* which links limit the all-reduce, in one sentence */
    /* with certificates, as banyan-bound-file(5); banyan_verify_text() checks it */
    const char *json;
    size_t bytes; /* of the vector in question */
} banyan_bounds_info;

BANYAN_API banyan_status banyan_bounds_get_info(const banyan_bounds *bounds, banyan_bounds_info *info,
                                                banyan_error *err);

/* Writes the JSON form to a file. */
BANYAN_API banyan_status banyan_bounds_save(const banyan_bounds *bounds, const char *path, banyan_error *err);

/* Schedules: transfers of pieces between nodes, for vectors of any size (banyan-schedule(5)). */
typedef struct banyan_schedule banyan_schedule;

/* From a file: JSON, MSCCL XML, or an all-gather of TE-CCL. It is read, not verified. */
BANYAN_API banyan_status banyan_schedule_load(const char *path, banyan_schedule **out, banyan_error *err);

/* The same for a network: what TE-CCL's file says of GPUs and switches, which it numbers in an order of its
 * own, becomes workers, switches and links of this topology. */
BANYAN_API banyan_status banyan_schedule_load_on(const char *path, const banyan_topology *topology,
                                                 banyan_schedule **out, banyan_error *err);

/* From the text of a JSON file. */
BANYAN_API banyan_status banyan_schedule_parse(const char *text, size_t length, banyan_schedule **out,
                                               banyan_error *err);
BANYAN_API void banyan_schedule_destroy(banyan_schedule *schedule);

/* Writes the JSON form to a file. */
BANYAN_API banyan_status banyan_schedule_save(const banyan_schedule *schedule, const char *path,
                                              banyan_error *err);

typedef struct {
    size_t size;
    const char *collective, *algorithm, *topology;
    int node_count, active_count;
    int root; /* rank, of broadcast and reduce */
    size_t transfer_count;
    int round_count, flow_count, piece_count;
    int route_count, route_link_count;
    char digest[24]; /* the same for two schedules that do the same */
} banyan_schedule_info;

BANYAN_API banyan_status banyan_schedule_get_info(const banyan_schedule *schedule, banyan_schedule_info *info,
                                                  banyan_error *err);

/* The caller's arrays; those that are NULL are left out. Pieces p..q-1 are the shares
 * cut[p]/cut[piece_count] to cut[q]/cut[piece_count] of the vector. */
typedef struct {
    size_t size;
    /* transfer_count entries, ascending by round: */
    int *round, *src, *dst;
    int *first_piece, *piece_count;
    int *is_copy; /* 1: overwrites at dst; 0: adds */
    int *flow;    /* the tree or ring that it belongs to */
    int *route;   /* a route, or -1 for the network's default route */
    int64_t *cut; /* piece_count + 1 entries */
    /* piece_count entries: the rank whose piece it is in reduce-scatter and all-gather; else -1 */
    int *owner;
    int *active; /* active_count entries: the node of each rank */
    /* route_count + 1 entries: route i has links route_link[route_first[i] .. route_first[i+1]) */
    int *route_first;
    int *route_link; /* route_link_count entries */
} banyan_schedule_arrays;

BANYAN_API banyan_status banyan_schedule_get_arrays(const banyan_schedule *schedule,
                                                    const banyan_schedule_arrays *arrays, banyan_error *err);

/* Names of algorithms, by number from 0 on; NULL beyond the last one. */
BANYAN_API const char *banyan_algorithm_name(int i);

/* Whether the algorithm has that parameter; 0 where there is no such algorithm. */
BANYAN_API int banyan_algorithm_takes(const char *algorithm, const char *parameter);

/* Plans: a schedule that is verified, with its figures. */
typedef struct banyan_plan banyan_plan;

typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    const char *active; /* workers that hold data: "0,1,4-7" or names; default: all */
    /* "allreduce" (default), "reducescatter", "allgather", "broadcast" or "reduce" */
    const char *collective;
    int root;              /* rank, of broadcast and reduce */
    size_t bytes;          /* size of the vector, up to 2^53; default: 64 MiB, planned for bandwidth */
    const char *algorithm; /* a name, or "auto" (default): the best prediction */
    const char *effort;    /* "estimate" (predicts by walk), "measure" or "patient"; default: by size */
    const char *const *parameters; /* of algorithms: key, value, key, value, ..., NULL */
    const char *wisdom;            /* a file in which auto remembers its choices; default: none */
    /* who runs it: "banyan" (default), "msccl", which cuts pieces itself and holds few steps, or
     * "interface", network interfaces that send transfers whole */
    const char *executor;
    /* auto returns TIMEOUT where it has not tried all algorithms by then (one that has started is
     * finished); default: no limit */
    int timeout_ms;
    void (*progress)(void *context, int done, int all); /* of auto: after each algorithm */
    void *context;
    void (*begins)(void *context, const char *algorithm); /* of auto: before each algorithm */
} banyan_plan_config;

#define BANYAN_PLAN_CONFIG_MAGIC 0xba27a203u
#define BANYAN_PLAN_CONFIG_INITIALIZER                                                                       \
    {                                                                                                        \
        sizeof(banyan_plan_config), BANYAN_PLAN_CONFIG_MAGIC, BANYAN_VERSION_CODE, NULL, NULL, 0, 0, NULL,   \
            NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL                                                      \
    }

/* config may be NULL. */
BANYAN_API banyan_status banyan_plan_create(const banyan_topology *topology, const banyan_plan_config *config,
                                            banyan_plan **out, banyan_error *err);
BANYAN_API void banyan_plan_destroy(banyan_plan *plan);

/* The plan's, for as long as the plan lives; NULL where plan is NULL. */
BANYAN_API const banyan_schedule *banyan_plan_schedule(const banyan_plan *plan);

typedef struct {
    size_t size;
    const char *algorithm;
    /* the setting that a patient auto has chosen; NULL: none */
    const char *variant_key, *variant_value;
    const char *explanation; /* why auto has chosen it; NULL where an algorithm was named */
    size_t bytes;            /* the size that it was planned for */
    double predicted_s;      /* of that size, with the cost of messages */
    double network_s;        /* of that size, on the links alone */
    const char *model;       /* that predicted: "fluid" or "walk" */
    /* of large vectors, which the fullest link allows; infinite where nothing is sent */
    double bytes_per_s;
    int bottleneck;    /* that link, or -1 */
    int depth;         /* transfers between workers on the longest chain that must follow each other */
    double volume;     /* the most that a worker sends, in vectors */
    double planning_s; /* CPU time of building and verifying */
    int64_t lp_solves, tree_searches, max_flows, solver_visits; /* work in it, counted */
    /* in a comparison: why the algorithm does not apply; there is no schedule, and all figures are 0.
     * NULL: it applies */
    const char *why_not;
} banyan_plan_info;

BANYAN_API banyan_status banyan_plan_get_info(const banyan_plan *plan, banyan_plan_info *info,
                                              banyan_error *err);

/* Comparisons: the plans among which banyan_plan_create chooses, side by side. */
typedef struct banyan_comparison banyan_comparison;

/* One plan with each algorithm, and with an effort of "patient" each variant, the fastest first and those
 * that do not apply last. config is that of banyan_plan_create; its algorithm may name several,
 * "ring,forest", and wisdom is neither asked nor told. */
BANYAN_API banyan_status banyan_comparison_create(const banyan_topology *topology,
                                                  const banyan_plan_config *config, banyan_comparison **out,
                                                  banyan_error *err);
BANYAN_API void banyan_comparison_destroy(banyan_comparison *comparison);

typedef struct {
    size_t size;
    int plan_count;
    int applicable_count; /* plans from 0 to here have a schedule */
    int chosen;           /* the plan that banyan_plan_create chooses, or -1 where no algorithm applies */
} banyan_comparison_info;

BANYAN_API banyan_status banyan_comparison_get_info(const banyan_comparison *comparison,
                                                    banyan_comparison_info *info, banyan_error *err);

/* The comparison's, for as long as it lives; NULL: there is no such plan. */
BANYAN_API const banyan_plan *banyan_comparison_plan(const banyan_comparison *comparison, int i);

/* Verdicts: whether a schedule is the collective that it claims to be, a rank gets each contribution
 * exactly once, and nothing is read before it is there. */
typedef struct banyan_verdict banyan_verdict;

/* topology may be NULL: then routes and the abilities of switches are not looked at. SUCCESS means that
 * there is a verdict, good or bad. */
BANYAN_API banyan_status banyan_schedule_verify(const banyan_schedule *schedule,
                                                const banyan_topology *topology, banyan_verdict **out,
                                                banyan_error *err);

/* The text of a schedule in JSON, MSCCL XML or TE-CCL's form, or of a bound, which needs its topology. */
BANYAN_API banyan_status banyan_verify_text(const char *text, size_t length, const banyan_topology *topology,
                                            banyan_verdict **out, banyan_error *err);
BANYAN_API void banyan_verdict_destroy(banyan_verdict *verdict);

typedef struct {
    size_t size;
    size_t problem_count; /* 0: verified */
    size_t shown_count;   /* the first few have a sentence */
    /* 1: all ranks add in the same order, so floating-point sums agree to the last bit */
    int is_same_bits;
    /* 0: where they do not; of a bound: that it claims to be tight, which no certificate proves; else NULL */
    const char *note;
} banyan_verdict_info;

BANYAN_API banyan_status banyan_verdict_get_info(const banyan_verdict *verdict, banyan_verdict_info *info,
                                                 banyan_error *err);

/* One sentence about problem i < shown_count, in the order of transfers; NULL beyond. */
BANYAN_API const char *banyan_verdict_problem(const banyan_verdict *verdict, size_t i);

/* Predictions: how long a schedule takes on a network. */
typedef struct banyan_prediction banyan_prediction;

typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    /* "auto" (default): fluid, or walk where that takes more than about a second; "fluid":
     * transfers share links max-min fairly; "walk": links serve one transfer after the other;
     * "flit": routers and network interfaces, cycle by cycle */
    const char *model;
    /* transfers travel in messages of this size; default: chosen for the schedule */
    size_t slice_bytes;
    /* fluid: messages with the same route move "shared" or in "turns"; default: turns if sliced */
    const char *service;
    int is_lockstep;           /* fluid, flit: a round starts when the previous one has ended everywhere */
    double overhead_s;         /* fluid: before the first byte of every message */
    double reduce_bytes_per_s; /* fluid: at which a worker adds; default: at once */
    const char *flow;          /* flit: "packet" (default), or "message": one head flit per message */
    const char *flit; /* flit: further settings, "clock=1GHz,vcs=4,...", as banyan-sim(1) lists them */
    void (*progress)(void *context, size_t done, size_t all); /* fluid: messages; flit: packets */
    void *context;
} banyan_predict_config;

#define BANYAN_PREDICT_CONFIG_MAGIC 0xba27a204u
#define BANYAN_PREDICT_CONFIG_INITIALIZER                                                                    \
    {                                                                                                        \
        sizeof(banyan_predict_config), BANYAN_PREDICT_CONFIG_MAGIC, BANYAN_VERSION_CODE, NULL, 0, NULL, 0,   \
            0, 0, NULL, NULL, NULL, NULL                                                                     \
    }

/* For a vector of up to 2^53 bytes; 0: what latencies take alone. PLAN_INVALID where the schedule does
 * not verify on this network: its time means nothing. config may be NULL. */
BANYAN_API banyan_status banyan_schedule_predict(const banyan_schedule *schedule,
                                                 const banyan_topology *topology, size_t bytes,
                                                 const banyan_predict_config *config, banyan_prediction **out,
                                                 banyan_error *err);
BANYAN_API void banyan_prediction_destroy(banyan_prediction *prediction);

typedef struct {
    size_t size;
    const char *model;
    double total_s;
    size_t transfer_count;
    size_t message_count; /* 0: not counted by this model */
    /* bytes that the links carried, as a share of what they could have; NaN: not known */
    double utilization;
    int bottleneck;          /* the link that was used most, or -1 */
    double bottleneck_share; /* the same as utilization, of this link */
    double bytes_per_s;      /* of large vectors, which the fullest link allows */
    /* by the formula of an all-reduce algorithm, where all links are the same and no round uses one twice;
     * else NaN */
    double closed_form_s;
    /* flit: until the network is quiet, and until the last message is applied; 0 for other models */
    int64_t cycles, applied_cycles;
    double clock_hz;
    int64_t flit_hops, link_flits, head_flits, arbitrations;
    int64_t table_entries, table_bits;           /* of the longest table of a network interface */
    int64_t normal_packets, normal_worst_cycles; /* other traffic */
    double normal_mean_cycles;
} banyan_prediction_info;

BANYAN_API banyan_status banyan_prediction_get_info(const banyan_prediction *prediction,
                                                    banyan_prediction_info *info, banyan_error *err);

/* When each transfer's first byte leaves, and its last one is applied: transfer_count entries each;
 * NULL: left out. */
BANYAN_API banyan_status banyan_prediction_get_times(const banyan_prediction *prediction, double *begin_s,
                                                     double *end_s, banyan_error *err);

/* A schedule in another form. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    size_t bytes;                        /* "trace" and "tables": size of the vector; default: 64 MiB */
    int max_steps;                       /* "msccl": steps that a thread block may have; default: 64 */
    size_t max_rows;                     /* "text": lines of transfers; default: 40 */
    const banyan_prediction *prediction; /* "trace": of this schedule; default: a new one */
    const char *flow, *flit;             /* "tables": as in banyan_predict_config */
    size_t slice_bytes; /* "tables": transfers are cut to this size first; default: they stay whole */
} banyan_export_config;

#define BANYAN_EXPORT_CONFIG_MAGIC 0xba27a205u
#define BANYAN_EXPORT_CONFIG_INITIALIZER                                                                     \
    {                                                                                                        \
        sizeof(banyan_export_config), BANYAN_EXPORT_CONFIG_MAGIC, BANYAN_VERSION_CODE, 0, 0, 0, NULL, NULL,  \
            NULL, 0                                                                                          \
    }

/* "json", "msccl", "mscclpp" (an execution plan), "dot", "trace" (Chrome's), "tables" (of network
 * interfaces) or "text". topology gives nodes their names and may be NULL, except for trace and tables.
 * config may be NULL. */
BANYAN_API banyan_status banyan_schedule_export(const banyan_schedule *schedule,
                                                const banyan_topology *topology, const char *format,
                                                const banyan_export_config *config, char **out,
                                                banyan_error *err);

/* Writes PREFIX.RANK.et for each rank: Chakra execution traces of a vector of that many bytes (0: 64 MiB),
 * which ASTRA-sim runs as a custom collective. */
BANYAN_API banyan_status banyan_schedule_save_chakra(const banyan_schedule *schedule, size_t bytes,
                                                     const char *prefix, banyan_error *err);

/* Reports: a network, the plan that auto chooses, its timeline and all others on one page for a browser. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    const char *format; /* "html" (default), or "json": the data of the page */
    /* a file with a measured timeline of the plan, to be shown beside the predicted one: banyan-trace(5) */
    const char *trace;
    void (*progress)(void *context, int done, int all); /* of the simulations, after all plans are made */
    void *context;
    const char *command; /* how the page was made, to be shown on it; NULL: not shown */
} banyan_report_config;

#define BANYAN_REPORT_CONFIG_MAGIC 0xba27a207u
#define BANYAN_REPORT_CONFIG_INITIALIZER                                                                     \
    {                                                                                                        \
        sizeof(banyan_report_config), BANYAN_REPORT_CONFIG_MAGIC, BANYAN_VERSION_CODE, NULL, NULL, NULL,     \
            NULL, NULL                                                                                       \
    }

typedef struct {
    size_t size;
    const char *algorithm; /* of the plan that is shown */
    int applicable_count;  /* plans that it was chosen from */
    size_t bytes;
    double predicted_s, bytes_per_s;
    double bound_bytes_per_s; /* NaN: not known */
} banyan_report_info;

/* plan is the config of banyan_comparison_create, of all-reduce; both configs and info may be NULL. *out is
 * freed with banyan_free. */
BANYAN_API banyan_status banyan_report_create(const banyan_topology *topology, const banyan_plan_config *plan,
                                              const banyan_report_config *config, char **out,
                                              banyan_report_info *info, banyan_error *err);

/* Networks and choices that the ranks of a communicator measure. Every rank calls these, with the same
 * arguments but for progress and result; ranks are processes. The sentence after a failure, which ends the
 * group, is that of banyan_last_error(). */
typedef struct {
    size_t size;
    double seconds;
    uint64_t bytes; /* that all ranks sent */
    int measurement_count, host_count;
    int rack_count; /* groups of hosts that share a trunk */
} banyan_probe_info;

/* Measures latencies and bandwidths between the ranks of a communicator that has made no call and was not
 * told of a network. Every rank gets the same network, in which worker r is rank r. progress and info may be
 * NULL; total is a guess. */
BANYAN_API banyan_status banyan_comm_probe(banyan_comm *comm,
                                           void (*progress)(void *context, int done, int total),
                                           void *context, banyan_topology **out, banyan_probe_info *info);

/* An all-reduce of one size by one plan. */
typedef struct {
    size_t size;
    size_t bytes;
    const char *algorithm;
    const char *variant_key, *variant_value; /* its setting; NULL: the defaults */
    double predicted_s;
    double measured_s; /* the median of its runs at the slowest rank */
    int is_auto;       /* 1: what runs where nobody has tuned */
    int is_chosen;     /* 1: the fastest */
} banyan_tune_result;

typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    const char *wisdom; /* the file in which rank 0 keeps the choices, beside those that it has */
    /* sizes are 1 KiB times powers of four, as communicators plan for, within: */
    size_t min_bytes, max_bytes; /* default: 1 KiB, 64 MiB */
    int candidate_count;         /* plans to time for each size, up to 64; default: 4 */
    double budget_s;             /* for each of them; default: 0.5 */
    banyan_datatype type;        /* of the elements */
    void (*result)(void *context, const banyan_tune_result *result); /* at rank 0; NULL: nobody looks */
    void *context;
} banyan_tune_config;

#define BANYAN_TUNE_CONFIG_MAGIC 0xba27a206u
#define BANYAN_TUNE_CONFIG_INITIALIZER                                                                       \
    {                                                                                                        \
        sizeof(banyan_tune_config), BANYAN_TUNE_CONFIG_MAGIC, BANYAN_VERSION_CODE, NULL, 0, 0, 0, 0,         \
            BANYAN_FLOAT32, NULL, NULL                                                                       \
    }

/* Times what auto chooses and the plans with the best predictions on the real network, and keeps the fastest
 * of each size as wisdom. */
BANYAN_API banyan_status banyan_comm_tune(banyan_comm *comm, const banyan_tune_config *config);

#ifdef __cplusplus
}
#endif
#endif
