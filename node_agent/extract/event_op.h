/* node_agent/extract/event_op.h - what the tasks of one communication op say
 *
 * Private to the event_*.c files.  Waiting and moving, by transport and by
 * link, as the profiler's own analysis has it: doc/formats.md, "Event
 * databases".
 */
#ifndef ROLLCALL_EXTRACT_EVENT_OP_H
#define ROLLCALL_EXTRACT_EVENT_OP_H

#include "extract/event_db.h"

enum op_band_id { BAND_RDMA, BAND_HCCS, BAND_PCIE, BAND_SDMA, BAND_SIO, BANDS };

struct op_band {
    double mb, ms;
    uint64_t packets, large;
};

/* Packets of one size on one transport, in order of appearance. */
struct op_bin {
    unsigned band;
    double mb, ms;
    uint64_t count;
};

/* What moved between two ranks of the group. */
struct op_link {
    uint32_t src, dst;
    const char *transport;      // of the last task; NULL: not known
    double mb, ms;
};

/* A plane: tasks[from, to), in order of time. */
struct op_plane {
    uint32_t plane;
    uint32_t from, to;
    int64_t start;
};

/* The tasks of one op, and what came of them.  All zero at first. */
struct op_work {
    struct op_task *tasks;      // by plane, then by start
    uint32_t ntasks, tasks_cap;
    struct op_plane *planes;    // by start
    uint32_t nplanes, planes_cap;
    struct keymap bin_map, link_map;
    struct op_bin *bins;
    uint32_t nbins, bins_cap;
    struct op_link *links;
    uint32_t nlinks, links_cap;
    struct op_band bands[BANDS];
    bool has_times;             // of a plane that is known
    double elapse, transit, wait, sync, idle;   // ms
};

void op_work_fini (struct op_work *w);

/* Fill in everything behind 'tasks'.  'name' is the op's, 'start' and 'end' its
 * range, 'masters' whether tasks say that they are one.  0 or -ENOMEM.
 */
int op_work_run (struct op_work *w, const char *name, int64_t start,
                 int64_t end, bool masters);

/* GB/s, and the share of large packets, as the profiler rounds them. */
double op_bandwidth (double mb, double ms);
double op_large_ratio (const struct op_band *band);

#endif
