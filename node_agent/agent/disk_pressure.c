/* node_agent/agent/disk_pressure.c - room on disks: wait for it, make it */
#include "agent/agent_private.h"

#include "agent/agent_captures.h"
#include "agent/agent_delivery.h"
#include "base/clock.h"
#include "base/counter.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLLECTING_NS (3 * NS_PER_S)    // a capture changed more recently is
                                        // still being written
#define FULL_NS (30 * NS_PER_S)         // after a write that found no room
#define FAILED_NS (60 * NS_PER_S)       // one line about a release in this time
#define CONFIRMED_NS (10 * NS_PER_S)    // a confirmation stays valid
#define RELEASES_MAX 4                  // at one time: unlinking takes time

struct disk {                   // a file system with captures
    uint64_t id;                // 0: it has none
    struct space_floor floor;
    struct disk *next;
    char dir[];                 // the first one watched there
};

static void say_note (struct agent *a, const char *text)
{
    char note[MESSAGE_TEXT_MAX];

    PRINT (note, "host %s: %.700s", a->self.host, text);
    (void)ship_note (a->ship, note);
}

/* ---- waiting for it ---- */

/* Notes cannot be withdrawn, so they say only what stays true. */
static void hold (struct agent *a, bool held)
{
    char text[MESSAGE_TEXT_MAX];

    if (a->room.held == held)
        return;
    a->room.held = held;
    ship_hurry (a->ship, held); // what is kept takes room
    if (!held) {
        log_info ("spool-has-room", "the spool takes captures again");
        return;
    }
    counter_add (COUNTER_DISK_FLOORS, 1);
    log_warn ("no-room", "captures stay where they are: %s",
              a->room.disk_quota.why.text);
    if (!a->room.noted) {       // with other numbers it were another note
        PRINT (text, "captures had to wait for room: %.600s",
               a->room.disk_quota.why.text);
        say_note (a, text);
    }
    a->room.noted = true;
    if (a->end.commands_ns > 0)
        agent_explain_ranks (a);
}

static void disk_pressure_refuse (struct agent *a, const char *capture,
                                  bool again)
{
    char text[MESSAGE_TEXT_MAX];

    counter_add (COUNTER_CAPTURES_REFUSED, 1);
    PRINT (text, "%.300s was refused%s: %.400s", capture,
           again ? " when it had been analysed" : "",
           a->room.disk_quota.why.text);
    log_warn ("capture-refused", "%s", text);
    say_note (a, text);
}

/* How many captures may be under way.  If the disk is full although neither
 * quota nor floor is reached, wait for a while.
 */
static unsigned admits (struct agent *a)
{
    if (clock_mono_ns () < a->room.full_until_ns)
        return 0;               // guard.why has the reason
    return disk_quota_admits (&a->room.disk_quota, spool_bytes (a->spool),
                              spool_kept_bytes (a->spool));
}

void agent_ran_out (struct agent *a, const struct err *why)
{
    a->room.full_until_ns = clock_mono_ns () + FULL_NS;
    a->room.disk_quota.why = *why;
    hold (a, true);
}

int agent_has_disk_space (struct agent *a, const char *capture, bool again)
{
    unsigned most = admits (a);

    hold (a, most == 0);
    if (most == 0 && a->room.disk_quota.policy == DISK_QUOTA_REFUSE) {
        disk_pressure_refuse (a, capture, again);
        return -EDQUOT;
    }
    if (most == 0)
        counter_add (COUNTER_CAPTURES_HELD, 1);
    return sealer_pending (a->sealer) < most;
}

bool agent_has_room_again (struct agent *a)
{
    if (!a->room.held)
        return false;
    hold (a, admits (a) == 0);
    return !a->room.held;
}

/* ---- giving way ---- */

void agent_give_way (struct agent *a)
{
    int64_t now = clock_mono_ns (), oldest = sealer_oldest_ns (a->sealer);
    bool collecting = a->opt->hold &&
                      watch_is_collecting (a->watch, now - COLLECTING_NS);
    struct bulk_situation s = {
        .job_alive = !agent_is_draining (a),
        .collecting = collecting,
        .limit_ns = a->opt->backlog_limit_ns,
        .spool_used = spool_bytes (a->spool),
        .spool_quota = disk_quota_quota_bytes (&a->room.disk_quota),
    };
    struct bulk_decision d;

    // raw files also wait while it is collecting
    if (!collecting)
        a->room.collecting_ns = 0;
    else if (a->room.collecting_ns == 0)
        a->room.collecting_ns = now;
    if (a->room.collecting_ns > 0 &&
        (oldest == 0 || a->room.collecting_ns < oldest))
        oldest = a->room.collecting_ns;
    s.waited_ns = oldest ? now - oldest : 0;
    d = bulk_decide (&s);

    bulk_set (a->bulk, &d);
    ship_hold (a->ship, d.hold);
}

/* ---- making it ---- */

/* Name a capture that stays.  What may pass is tried again every second, and
 * logged once a minute.
 */
static void log_not_released (struct agent *a, int rc, const struct err *err)
{
    int64_t now = clock_mono_ns ();

    if (rc != -ESTALE && a->release.failed_ns > 0 &&
        now - a->release.failed_ns < FAILED_NS)
        return;
    if (rc != -ESTALE)
        a->release.failed_ns = now;
    log_warn ("not-released", "%s", err->text);
}

/* Until a run's result is written, only the run's own root has what it
 * delivered; but the job needs room to continue.
 */
static bool waits_for_roll (const struct agent *a)
{
    return a->opt->run_dir && !a->opt->no_roll &&
           a->life.state.now != LIFE_ROLLED;
}

/* The aggregator confirms every two seconds.  A run's own aggregator need not
 * confirm again what it has written into OUT.
 */
bool agent_is_confirmed (const struct agent *a)
{
    int64_t since_ns = a->life.state.now == LIFE_ROLLED
                           ? 0 : clock_mono_ns () - CONFIRMED_NS;

    return !spool_redelivers (a->spool) && a->ship &&
           ship_confirmed (a->ship, since_ns);
}

bool agent_go_on_removing (struct agent *a)
{
    struct err why = { "" };

    if (a->release.repaired || !agent_is_confirmed (a))
        return false;
    a->release.repaired = true;
    if (release_repair (a->spool, &why) == 0)
        return false;
    log_warn ("not-released", "%s", why.text);
    return true;
}

/* Whether a capture may go of which only rows are delivered.  If raw files are
 * wanted on demand, not before the aggregator has decided, nor while the files
 * of one are sealed; those that are in the spool hold their capture.
 */
static void choose_rows (struct agent *a)
{
    struct release_policy *p = &a->release.policy;

    p->rows_suffice = a->opt->release_rows_only && !agent_gives_raw (a) &&
                      !a->wants.sealing;
    p->rows_after_ns = agent_awaits_wants (a) ? AGENT_DECISION_NS : 0;
}

static int release_one (struct agent *a, bool full)
{
    struct err err = { "" };
    char path[PATH_MAX] = "";
    int rc;

    // it may have more than was delivered; and a first choice gets it again
    if (!a->search.looked || !agent_is_confirmed (a) ||
        !agent_is_at_first_choice (a) ||
        (!full && waits_for_roll (a)))
        return 0;
    choose_rows (a);
    rc = release_next (a->spool, &a->release.policy, full, clock_wall_ns (),
                       path, &err);
    if (rc == -ESTALE)          // it may have more than was delivered
        a->release.stale_ns = clock_mono_ns ();
    if (rc > 0)
        log_info ("released", "%s", path);
    else if (rc < 0)
        log_not_released (a, rc, &err);
    return rc;
}

void agent_release_some (struct agent *a, bool full)
{
    for (int i = 0; i < RELEASES_MAX; i++) {
        int rc = release_one (a, full || a->room.held);

        if (rc == 0 || (rc < 0 && rc != -ESTALE))
            break;
    }
}

bool agent_release_next (struct agent *a)
{
    int rc = release_one (a, false);

    return rc > 0 || rc == -ESTALE;
}

void agent_add_disk (struct agent *a, const char *dir)
{
    struct disk *d = a->room.disks, *made;
    struct space s = { .id = 0 };

    (void)space_of (dir, &s, NULL);
    while (d && (s.id ? d->id != s.id : strcmp (d->dir, dir) != 0))
        d = d->next;
    if (d || !(made = calloc (1, sizeof (*made) + strlen (dir) + 1)))
        return;
    made->id = s.id;
    made->floor.limit = a->opt->disk_floor;
    (void)strcpy (made->dir, dir);
    made->next = a->room.disks;
    a->room.disks = made;
}

bool agent_check_disks (struct agent *a)
{
    bool any = false;

    for (struct disk *d = a->room.disks; d; d = d->next) {
        struct err why = { "" };
        bool was = d->floor.below;

        if (space_check_floor (&d->floor, d->dir, &why) == 0 && !was) {
            log_warn ("no-room", "%s", why.text);
            say_note (a, why.text);
        }
        any = any || d->floor.below;
    }
    return any;
}

/* ---- life ---- */

static void choose_release (struct agent *a)
{
    (void)release_parse (a->opt->release, &a->release.policy);
    if (a->room.disk_quota.policy == DISK_QUOTA_DROP &&
        a->release.policy.kind == RELEASE_NEVER)
        a->release.policy.kind = RELEASE_WHEN_FULL;
    if (a->opt->run_dir) {      // other directories belong to others
        char own[PATH_MAX];

        if (realpath (a->opt->run_dir, own))
            PRINT (a->release.below, "%.*s/captures", PATH_MAX - 16, own);
        else
            a->release.policy.kind = RELEASE_NEVER;
        a->release.policy.below = a->release.below;
    } else if (a->release.policy.kind != RELEASE_NEVER &&
               !(a->release.roots = roots_create (a->opt->watch.items,
                                          a->opt->watch.n))) {
        log_error ("release", "nothing will be released: no memory for the "
                   "names of directories");
        a->release.policy.kind = RELEASE_NEVER;
    }
}

void agent_open_disk_pressure (struct agent *a)
{
    a->room.disk_quota = (struct disk_quota){ .spool_dir = a->spool_dir,
                               .quota = a->opt->spool_quota,
                               .floor = { .limit = a->opt->disk_floor } };
    (void)disk_quota_parse_policy (a->opt->when_full,
                                   &a->room.disk_quota.policy);
    for (size_t i = 0; i < a->opt->watch.n; i++)
        agent_add_disk (a, a->opt->watch.items[i]);
    choose_release (a);
}

void agent_close_disk_pressure (struct agent *a)
{
    roots_destroy (a->release.roots);
    while (a->room.disks) {
        struct disk *next = a->room.disks->next;

        free (a->room.disks);
        a->room.disks = next;
    }
}
