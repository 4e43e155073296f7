/* cli/run/run_master.c - the rendezvous of the COMMANDs of one host
 *
 * Rank 0 usually tells the place of the rendezvous, but not to wrappers that
 * were told where the aggregator is.  They share their host's directory,
 * though: the first one leaves the place there before it starts the agent that
 * all of them join.
 */
#include "run/run.h"


#define MASTER "master.json"

static bool is_asked (const struct run *r)
{
    return r->way == RUN_WAY_GIVEN && r->world.local_size == r->world.size;
}

int run_leave_master (struct run *r, struct err *err)
{
    struct json *j;

    if (!is_asked (r) || r->world.local_rank != 0)
        return 0;
    run_choose_master (r);
    j = json_object ();
    json_add_text (j, "addr", r->master_addr);
    json_add_int (j, "port", r->master_port);
    return json_replace (j, true, r->dir, MASTER, 0600, err);
}

void run_find_master (struct run *r)
{
    struct json *j = is_asked (r) ? run_read_object (r->dir, MASTER) : NULL;

    if (!j)
        return;
    PRINT (r->master_addr, "%s", json_text (json_get (j, "addr"), ""));
    (void)json_int (json_get (j, "port"), &r->master_port);
    json_free (j);
}
