// Types and functions shared by the parts of capture_maker, the program that
// writes artificial profiler captures for rollcall's tests.  The data flow is:
// options -> job (groups) -> capture (one rank, in memory) -> files.

#ifndef MAKER_H
#define MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXIT_IO 1
#define EXIT_USAGE 2

#define DIR_MODE 0750
#define FILE_MODE 0640

// The years of the profiler and what came with them.
#define FIRST_AGE 2023
#define LAST_AGE 2026
#define AGE_WITH_SIO 2024
#define AGE_WITH_PREPARING 2024
#define AGE_WITH_ITERATION 2024 // last field of op names
#define AGE_AGGREGATED 2024     // matrix with op types and "Op Name"
#define AGE_EXPORT_LIST 2024    // before, the export type is a string
#define AGE_WITH_DEVICE 2025
#define AGE_NEW_CONFIG 2025 // versions and the newer config keys
#define AGE_WITH_DONE 2026

#define MAX_BREAKS 64 // --break options on one command line
#define MAX_RULES 64 // of each option that is given for one rank or host
#define ALL_HOSTS (-1)
#define MAX_BINS 2    // packet sizes of one op: full and tail
#define MAX_KINDS 4   // world, tp, dp, pp
#define MAX_NAME 64   // op or communicator name with its terminator
#define MAX_SHAPES 10 // message shapes known to the model
#define MAX_PATH 4096
#define SMALL_CHUNK 16384 // bytes of packets that are small
#define MAX_PEERS 9 // links of one op, without the local one

#define TICKS_PER_MS 50000.0 // a tick is 20 ns, as in real captures
#define TICKS_PER_US 50.0

// The first five are the transports of communication.json, in its order.
enum transport {
    T_RDMA,
    T_HCCS,
    T_PCIE,
    T_SDMA,
    T_SIO,
    BAND_COUNT,
    T_LOCAL = BAND_COUNT,
    T_NULL
};

// Those behind FORM_BOTH are instead of the others.
enum form {
    FORM_TEXT = 1,
    FORM_DB = 2,
    FORM_BOTH = 3,
    FORM_TIMELINE = 4,
    FORM_KERNELS = 8,
    FORM_EVENT_DB = 16,
    FORM_KINETO = 32,
    FORM_MSPROF = 64
};

// How the capture of a rank is called.
enum layout { LAYOUT_REAL, LAYOUT_RENAMED, LAYOUT_HOSTS };

// The first and last step of a window, as bits.
enum edge { EDGE_FIRST = 1, EDGE_LAST = 2 };

// Something said of one rank or host.
struct rule {
    int whose;
    int64_t value;
    int64_t last; // of --window only
};

struct rules {
    size_t count;
    struct rule list[MAX_RULES];
};

// --swap: two captures that hold a part of each other.
struct swap {
    int a; // -1: none
    int b;
    bool outputs; // all results, else only the profiler_info
};

enum break_flag {
    B_TRUNCATED_JSON = 1 << 0,
    B_WRONG_TYPE = 1 << 1,
    B_EMPTY_FILE = 1 << 2,
    B_MISSING_FILE = 1 << 3,
    B_MISSING_CSV = 1 << 4,
    B_BAD_UTF8 = 1 << 5,
    B_OVERFLOW_NUMBER = 1 << 6,
    B_HUGE_STRING = 1 << 7,
    B_DEEP_NESTING = 1 << 8,
    B_TRAILING_GARBAGE = 1 << 9,
    B_CORRUPT_DB = 1 << 10,
    B_TRUNCATED_DB = 1 << 11,
    B_DB_MISSING_COLUMN = 1 << 12,
    B_DB_EXTRA_COLUMN = 1 << 13,
    B_DB_MISSING_TABLE = 1 << 14,
    B_HOT_JOURNAL = 1 << 15,
    B_SYMLINK = 1 << 16,
    B_UNREADABLE = 1 << 17,
    B_RAW = 1 << 18,
    B_COLLECTING = 1 << 19,
    B_ANALYSING = 1 << 20,
    B_NO_DONE = 1 << 21,
    B_DUPLICATE = 1 << 22,
    B_TWO_HOSTS = 1 << 23
};

struct break_rule {
    unsigned flag;
    int rank;
};

// What can be wrong with a job, and is then told by the truth.
enum plant {
    P_SLOW_RANK,
    P_SLOW_NODE,
    P_SLOW_LINK,
    P_IDLE_RANK,
    P_LATE_STEP,
    P_SKEW,
    P_SMALL_PACKETS,
    P_OVERLAP,
    P_BUBBLE,
    PLANT_COUNT
};

struct options {
    const char *outdir;
    int ranks;
    int steps;
    int ops;
    int first_step;
    uint64_t seed;
    int only_rank; // -1: all
    bool *skip;    // one per rank
    int slow_rank; // -1: none
    int slow_src;  // -1: none
    int slow_dst;
    int slow_node; // host, -1: none
    int idle_rank; // -1: none
    int late_step; // id, -1: none
    int skew_rank; // -1: none
    int skew_ms;
    int overlap; // percent of every op's transfer, -1: of some
    int bubble_ms;
    bool small_packets;
    bool steady; // all steps do the same
    int form; // enum form
    bool mindspore;
    int age; // 2023 .. 2026
    int level;
    enum layout layout;
    int ranks_per_host;
    bool indent;
    bool crlf;
    bool extras; // also what is not one of the four tables
    bool string_rank;
    bool no_rank;
    int repeat;
    unsigned transports; // bit per enum transport
    struct break_rule breaks[MAX_BREAKS];
    size_t break_count;
    int64_t huge_bytes;
    const char *truth;
    bool quiet;
    // whose the captures are; see maker_whose.c
    int64_t start_us; // -1: late autumn of the age's year
    int64_t gap_us;   // -1: as long as a repetition may be
    int process;
    int first_pid;
    int first_host;
    const char *host_name; // with # for its number
    const char *worker;    // with # for the rank; NULL: the host's name
    bool no_host;
    struct rules boots; // s since 1970
    struct rules host_skews;
    bool root_ids;
    bool no_groups;
    int list_members; // groups of more are not listed
    bool no_metadata;
    bool no_schedule;
    int wait;   // -1: none
    int warmup; // -1: one, if there is room for it
    int span;   // steps of the job that the captures are of
    bool *listed; // per step of it: --steps-list, NULL: all
    struct rules windows;
    struct rules drops;
    int edges; // enum edge that take longer
    int devices;
    bool local_ranks;
    struct rules rank_claims;
    struct rules world_claims;
    struct swap swap;
};

// One communication group: its members' global ranks in group order.
struct group {
    const char *kind_name; // default_group, tp, dp, pp
    char name[MAX_NAME];   // communicator name
    char hash[24];         // group key of the files
    int kind;
    int size;
    int *members;
    int64_t min_rate;   // bytes per tick of the slowest used link
    int64_t usual_rate; // and if none is slow on purpose
};

struct job {
    const struct options *opt;
    struct group *groups;
    int group_count;
    int kind_count;
    int pp_kind; // index of the point-to-point kind, or -1
    int tp_size;
    int dp_size;
    int pp_size;
    int first_group[MAX_KINDS];
    int groups_of_kind[MAX_KINDS];
    int64_t rate_of_kind[MAX_KINDS]; // the lowest usual_rate of its groups
    int *group_of[MAX_KINDS]; // per rank
    int *place_of[MAX_KINDS]; // per rank: group rank
    int *members;             // storage of all member lists
    struct course *courses;   // maker_course.c
};

struct packet_bin {
    double mb;
    double ms;
    int64_t count;
};

// One transport of one op.
struct band {
    bool touched; // something was added: numbers are floats
    double mb;
    double ms;
    double gbps;
    double large;
    int64_t packets;
    int64_t large_packets;
    size_t bin_count;
    struct packet_bin bins[MAX_BINS];
};

struct op {
    char name[MAX_NAME];
    const char *matrix_type;
    int64_t seq; // in its group, since the window's first step
    int group;   // index in job.groups
    bool p2p;
    double start_us;
    double elapse_ms;
    double transit_ms;
    double wait_ms;
    double sync_ms;
    double idle_ms;
    bool has_transit; // false: printed as the integer 0
    bool has_wait;
    struct band bands[BAND_COUNT];
    size_t first_link;
    size_t link_count;
    // in ticks; only the timeline needs these
    int64_t begin;
    int64_t elapse;
    int64_t sync;
    int64_t wait;    // 0: has_wait is false
    int64_t compute; // that ends where the op begins
    int64_t overlap; // computing within the op, from its begin
};

// One packet of a link, kept for timelines only.
struct packet {
    int64_t bytes;
    int64_t ticks;
};

// What one op moved over one link; src and dst are group ranks.
struct link {
    size_t op;
    int src;
    int dst;
    enum transport transport;
    double mb;
    double ms;
    double gbps;
    size_t first_packet;
    size_t packet_count;
};

// One line of step_trace_time.csv, all in microseconds.
struct step_row {
    int id;
    int index; // among the steps of the job
    double computing;
    double not_overlapped;
    double overlapped;
    double communication;
    double free;
    double stage;
    double bubble;
    double exclude_receive;
    double preparing;
    bool has_bubble; // false: printed as the integer 0
    // in ticks: what the host needs, the first event, the end, and the
    // computing behind the last op
    int64_t prepare;
    int64_t first_tick;
    int64_t end_tick;
    int64_t tail;
};

// Which capture is to be made.
struct capture_id {
    int rank;
    int repeat;        // 0 .. options.repeat - 1
    bool other_values; // the second capture of a duplicate
    bool other_host;
};

// Everything one rank's profiler saw, one step after the other; each step
// has options.ops ops.
struct capture {
    struct capture_id id;
    int64_t planted[PLANT_COUNT]; // ticks that it cost, of all steps
    const struct job *job;
    int64_t base_us; // epoch time of tick 0
    int64_t skew_us; // how far its clock is ahead
    int64_t first_tick; // of its window, be its first step recorded or not
    int64_t last_tick;
    int device; // the first of options.devices
    int step_count;
    struct step_row *steps;
    struct op *ops;
    size_t op_count;
    struct link *links;
    size_t link_count;
    size_t link_room;
    struct packet *packets;
    size_t packet_count;
    size_t packet_room;
};

// One row of the aggregated matrix.  Rows with equal key belong together.
struct matrix_row {
    size_t key;
    const char *type;
    const char *place;   // top1, middle, ...
    const char *op_name; // NULL for place total
    const char *hash;
    int src;
    int dst;
    enum transport transport;
    double mb;
    double ms;
    double gbps;
};

struct tables; // maker_db.c

// maker_options.c
void parse_options (int argc, char **argv, struct options *opt);
unsigned breaks_of (const struct options *opt, int rank);
bool has_communication (const struct options *opt);

// maker_whose.c
struct clocks {
    int64_t boot_ns; // of the host, as its clock says
    int64_t start_ns;
    int64_t end_ns;
};
const struct rule *find_rule (const struct rules *rules, int whose);
int64_t year_start_us (const struct options *opt);
int64_t boot_ns (const struct options *opt, int host);
struct clocks clocks_of (const struct capture *c);
int host_of (const struct capture *c);
int pid_of (const struct capture *c);
void put_host_name (char *text, const struct capture *c);
void put_worker (char *text, const struct capture *c);
void put_host_uid (char *text, const struct capture *c);
int claimed_rank (const struct capture *c);
int claimed_world (const struct capture *c);
void name_group (const struct options *opt, struct group *g, int index);

// maker_schedule.c
struct schedule {
    int wait;
    int warmup;
    int active;
    int skip_first;
};
struct window {
    int first; // among the steps of the job
    int last;
};
struct window window_of (const struct options *opt, int rank);
bool records_step (const struct options *opt, int rank, int step);
struct schedule schedule_of (const struct options *opt, int rank);
int step_id (const struct options *opt, int repeat, int step);
bool is_edge (const struct options *opt, int rank, int step);
void check_schedule (struct options *opt);

// maker_number.c
uint64_t mix (uint64_t x);
uint64_t draw (uint64_t key, uint64_t counter);
void hash_group (const char *name, char *text, size_t room);
double round4 (double x);
size_t format_double (char *buf, double x);
void put_double (FILE *f, double x);
void put_number (FILE *f, double x, bool is_float);

// maker_job.c
void build_job (struct job *job, const struct options *opt);
void free_job (struct job *job);
int peers_of (const struct job *job, const struct group *g, int place,
              int *peers);
enum transport pick_transport (const struct options *opt, int a, int b,
                               int64_t seq);
int64_t link_rate (const struct options *opt, enum transport t, int a, int b);

// maker_model.c
void make_capture (struct capture *c, const struct job *job,
                   struct capture_id id);
void free_capture (struct capture *c);

// maker_plant.c
struct shape;
bool is_slow (const struct options *opt, int rank);
int64_t late_ticks (const struct options *opt, uint64_t shared, int step,
                    int64_t ticks);
bool is_late (const struct options *opt, int step);
int plant_steps (const struct capture *c, enum plant p);
bool has_plant (const struct options *opt, enum plant p, int rank);
const char *plant_name (enum plant p);
const struct shape *small_shape (const struct shape *large);

// maker_traffic.c
struct shape {
    int64_t chunk;   // bytes of a full packet
    int64_t packets; // number of full packets
    int64_t tail;    // bytes of the last one, 0: none
};
// What one op of one rank moves.
struct transfer {
    const struct shape *shape;
    const int *peers; // group ranks it sends to
    int peer_count;
    enum transport local; // its local copy: T_LOCAL, T_NULL
    bool has_local;
    int64_t seq;   // number of the op in its group
    uint64_t luck; // this rank's random number for the op
};
extern const struct shape shapes[MAX_SHAPES];
int64_t slowest_transfer (const struct shape *s, int64_t rate);
int64_t shape_latency (const struct shape *s);
int64_t fill_traffic (struct capture *c, size_t op_index,
                      const struct transfer *t);

// maker_text.c
FILE *create_file (const char *path);
void close_file (FILE *f, const char *path);
void write_communication (const struct capture *c, const char *path);
void write_step_csv (const struct capture *c, const char *path);
void put_step_open (FILE *f, const struct capture *c, int step);

// maker_matrix.c
const char *transport_name (enum transport t);
struct matrix_row *aggregate_matrix (const struct capture *c, int step,
                                     bool p2p, size_t *count);
void write_matrix (const struct capture *c, const char *path);

// maker_db.c
struct tables *open_tables (const char *path, const struct options *opt,
                            bool is_truth);
void add_capture_rows (struct tables *t, const struct capture *c);
void close_tables (struct tables *t);

// maker_timeline.c
void write_trace_view (const struct capture *c, const char *path);

// maker_kernels.c
struct kernel_kind {
    const char *name;
    const char *type;
    const char *core;
    const char *shapes;
};
#define KERNEL_KINDS 3
extern const struct kernel_kind kernel_kinds[KERNEL_KINDS];
// Calls 'fn' for each kernel of a step, in order: which kind, when, how long.
void each_kernel (const struct capture *c, int step,
                  void (*fn) (void *arg, int kind, int64_t at, int64_t length),
                  void *arg);
void write_kernels (const struct capture *c, const char *path);

// maker_events.c
void write_event_db (const struct capture *c, const char *path);

// maker_kineto.c
void write_kineto (const struct capture *c, const char *path);

// maker_layout.c
// Of which captures the parts of one directory are.
struct parts {
    const struct capture *name; // and the metadata
    const struct capture *info;
    const struct capture *output;
};
int64_t write_capture (const struct parts *parts);
void make_dirs (const char *path);
void join_path (char *out, const char *dir, const char *name);

// maker_json.c
#define MAX_DEPTH 8
// A writer with the spacing of Python's json.dump, compact or indented.
struct json {
    FILE *f;
    bool indent;
    int depth;
    bool used[MAX_DEPTH]; // the level has a value already
};
void open_part (struct json *j, const char *key, char bracket);
void close_part (struct json *j, char bracket);
void put_text (struct json *j, const char *key, const char *text);
void put_int (struct json *j, const char *key, int64_t x);
void put_word (struct json *j, const char *key, const char *word);

// maker_info.c
void put_distributed (struct json *j, const char *key,
                      const struct capture *c);
void put_groups (struct json *j, const char *key, const struct capture *c);
void write_device_info (const struct capture *c, int device,
                        const char *path);
void write_profiler_info (const struct capture *c, const char *path);
void write_metadata (const struct capture *c, const char *path);

// maker_extras.c
void write_extras (const struct capture *c, const char *dir);

// maker_break.c
void break_files (const char *output, const struct capture *c, unsigned flags);

// maker_main.c
_Noreturn void die (const char *path);
_Noreturn void die_text (const char *path, const char *text);
void *make_room (size_t count, size_t size);

#endif
