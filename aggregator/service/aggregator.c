/* aggregator/service/aggregator.c - the process that receives and builds
 *
 * One loop receives messages, commits in groups, and decides for each job when
 * to build it.
 */
#include "service/aggregator_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/units.h"
#include "json/status.h"
#include "options/program.h"
#include "store/fileio.h"
#include "store/object_owner.h"
#include "store/root.h"
#include "store/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define TICK_NS (100 * NS_PER_MS)
#define ROOM_NS NS_PER_S                // between checks of free space
// how long a service that was told to end may build; the rest of the time until
// systemd kills it (deploy/systemd) is for cancelling the build and for syncs
#define END_NS (240 * NS_PER_S)

/* ---- time ---- */

/* When to build a job.  A service that was told to end builds at once what
 * arrived before; what arrives later, or fails, is left to the next start.
 */
static int64_t job_due_ns (const struct aggregator *a, const struct served *s)
{
    int64_t came_ns = s->schedule.first_ns;

    if (a->ending_ns == 0)
        return build_schedule_due_ns (&s->schedule);
    return came_ns == 0 || came_ns > a->ending_ns ? INT64_MAX : came_ns;
}

/* The job that has been due for longest, or NULL. */
static struct served *find_due (const struct aggregator *a, int64_t now)
{
    struct served *first = NULL;
    int64_t due_ns = now;

    for (struct served *s = a->jobs; s; s = s->next) {
        if (job_due_ns (a, s) <= due_ns) {
            due_ns = job_due_ns (a, s);
            first = s;
        }
    }
    return first;
}

/* Start the next build, one at a time, unless it is upkeep's turn.  Jobs that an
 * earlier aggregator left unbuilt come after those that are due, and before the
 * end.
 */
static void check_service (struct aggregator *a, int64_t now)
{
    bool ending = a->ending_ns > 0, late = ending &&
                                           now - a->ending_ns >= END_NS;
    struct served *due = a->building ? NULL : find_due (a, now);
    bool begun = a->building != NULL;

    if (!ending && aggregator_upkeep_has_turn (a, now))
        return;
    if (!begun && !late && due) {
        aggregator_start_build (a, due);
        begun = true;
    } else if (!begun && !late &&
               (ending || now - a->began_ns >= BUILD_SCHEDULE_SETTLE_NS)) {
        begun = aggregator_build_next_unbuilt (a);
    }
    if (late || (ending && !begun))
        loop_stop (a->loop, 0);
}

void aggregator_on_built (void *arg)
{
    struct aggregator *a = arg;

    if (!aggregator_end_build (a))
        return;
    if (a->opt->job)
        aggregator_on_run_built (a);
    else if (ledger_newest (a->ledger, a->building->job.id, ITEM_RAW) == 0)
        aggregator_drop_result (a, a->building->job.id);  // it became empty
    else
        pusher_changed (a->pusher, a->building->job.id);
    aggregator_forget_build (a);
}

static void tick (void *arg)
{
    struct aggregator *a = arg;
    int64_t now = clock_mono_ns ();

    transfers_tick (a->transfers, now);
    aggregator_commit_soon (a);
    if (a->opt->job) {
        aggregator_check_run (a, now);
    } else {
        check_service (a, now);
        aggregator_check_silent (a, now);
        aggregator_check_usage (a, now);
        aggregator_check_gc (a, now);
        aggregator_check_retention (a, now);
    }
    aggregator_check_shares (a, now);
    (void)loop_add_timer (a->loop, TICK_NS, tick, a);
}

/* One that is not full goes to the store, too, after a time. */
static void seal_for_store (struct aggregator *a)
{
    uint64_t bytes = store_open_extent (a->store).end;
    int64_t now = clock_mono_ns (), most = a->opt->store_after_ns;
    int64_t after_ns = stored_seal_after (&a->stored, &a->uploaded, bytes, most,
                                          now);
    struct err err = { "" };
    int rc = store_seal_after (a->store, after_ns, &err);

    // an agent that stands still, or is not asked for more as the disk is full,
    // would keep it open
    if (rc == 2 && aggregator_is_quiet (a))
        rc = store_seal_after (a->store, after_ns, &err);
    if (rc < 0)
        log_warn ("store-seal-failed", "%s", err.text);
    if (rc == 1 && after_ns < most)
        stored_sealed (&a->stored, bytes, now);
}

/* Tell the thread that uploads what is sealed, and the log what changed. */
static void check_uploads (struct aggregator *a)
{
    struct uploads_state now, *was = &a->uploaded;
    struct err err = { "" };

    if (!a->uploads)
        return;
    if (store_sum_later (a->store, a->ledger, &err) < 0)
        log_warn ("sums-failed", "%s", err.text);
    seal_for_store (a);
    if (uploads_offer (a->uploads, a->store) == 0)
        stored_look (&a->stored, a->uploads, a->store, a->ledger);
    uploads_state (a->uploads, &now);
    if (now.conflicts > was->conflicts)
        log_error ("store-conflict", "%s", now.conflict);
    if (now.error != 0 && now.error != was->error)
        log_warn ("store-failed", "%llu segment%s for upload: %s",
                  (unsigned long long)now.waiting,
                  now.waiting == 1 ? " waits" : "s wait", now.why);
    else if (now.error == 0 && was->error != 0)
        log_info ("store-back", "%s is in reach again",
                  uploads_url (a->uploads));
    *was = now;
}

/* When the root has too little room, accept nothing: acknowledged data stays
 * safe, and the agents keep theirs.
 */
static void check_room (void *arg)
{
    struct aggregator *a = arg;
    struct err why = { "" };
    bool was = a->floor.below;
    int rc;

    if (!aggregator_has_root (a))
        return;
    (void)aggregator_look (a, false);
    check_uploads (a);
    rc = space_check_floor (&a->floor, a->opt->root, &why);
    if (rc == 0 && !was) {
        counter_add (COUNTER_DISK_FLOORS, 1);
        log_warn ("disk-floor", "no data is accepted until there is room: %s",
                  why.text);
        a->no_room = why;
    } else if (rc > 0 && was) {
        log_info ("disk-room", "%s has room again", a->opt->root);
    }
    for (struct served *s = a->jobs; s && a->floor.below; s = s->next)
        (void)job_note (&s->job, a->no_room.text);
    if (rc >= 0)
        transfers_hold (a->transfers, a->floor.below || a->closed ||
                                          a->unrepaired);
    (void)loop_add_timer (a->loop, ROOM_NS, check_room, a);
}

/* Count the agents that are not lost; the lost ones have a list of their own.
 */
static int64_t count_agents (const struct served *s)
{
    int64_t n = 0;

    for (size_t i = 0; i < s->job.nagents; i++)
        n += !s->job.agents[i].lost;
    return n;
}

static void add_job (struct json *jobs, const struct served *s)
{
    struct json *j = json_push_object (jobs);

    json_add_text (j, "job", s->job.id);
    json_add_int (j, "agents", count_agents (s));
    json_add_int (j, "world_size", s->job.world_size);
}

static bool status_path (const struct aggregator *a, char path[PATH_MAX])
{
    return fileio_join (path, PATH_MAX, a->opt->root, "status.json");
}

/* Write what this aggregator is doing, for rollcall status. */
static void write_status (void *arg)
{
    struct aggregator *a = arg;
    struct json *j, *jobs;
    const char *state = "serving";
    char path[PATH_MAX], silent[MESSAGE_TEXT_MAX];
    size_t nsilent;

    if (a->over)
        state = "over";
    else if (a->floor.below)
        state = "no-room";
    else if (aggregator_has_unbuilt (a))
        state = "build-failed";
    else if (a->building)
        state = "building";
    j = status_begin ("rollcall-aggregator", a->opt->job, state);
    json_add_text (j, "listen", a->opt->listen);
    jobs = json_add_array (j, "jobs");
    for (const struct served *s = a->jobs; s; s = s->next)
        add_job (jobs, s);
    aggregator_add_unbuilt (a, j);
    nsilent = aggregator_add_silent (a, j, silent, sizeof (silent));
    aggregator_add_forecast (a, j);
    if (a->floor.below || nsilent > 0)
        json_add_text (j, "why", a->floor.below ? a->no_room.text : silent);
    aggregator_add_retention (a, j);
    pusher_add_status (a->pusher, j);
    if (a->uploads)
        uploads_add_status (a->uploads, j);
    if (status_path (a, path))
        status_write (j, path, &a->status_text);
    else
        json_free (j);
    (void)loop_add_timer (a->loop, STATUS_EVERY_NS, write_status, a);
}

static void end_status (struct aggregator *a)
{
    char path[PATH_MAX];

    if (a->status_text && status_path (a, path))
        (void)unlink (path);
    free (a->status_text);
}

/* The service accepts nothing more, and ends when it has built what arrived. */
static void end_service (struct aggregator *a)
{
    aggregator_commit (a);
    a->closed = true;
    transfers_hold (a->transfers, true);
    a->ending_ns = clock_mono_ns ();
    check_service (a, a->ending_ns);
    if (a->building)
        log_info ("ending", "captures that have arrived are built first; a "
                  "second signal ends the aggregator at once");
}

static void on_signal (void *arg, int signo)
{
    struct aggregator *a = arg;

    log_info ("signal", "ending on signal %d", signo);
    if (!a->opt->job && a->ending_ns == 0) {
        end_service (a);
        return;
    }
    if (a->opt->job)
        a->status = EX_TEMPFAIL;
    loop_stop (a->loop, 0);
}

/* ---- start and end ---- */

/* Log what was recovered.  If somebody restored an older ledger from a backup,
 * all later data looks as if it had never been acknowledged: this shows what
 * became of it.
 */
static void tell_recovered (const struct aggregator *a)
{
    struct store_recovered r = store_recovered (a->store);
    enum log_level level = r.between > 0 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO;

    if (r.records + r.between + r.cut == 0)
        return;
    log_text (level, "recovered", "the ledger lacked %llu record%s (%llu "
              "bytes) of the segments, which %s entered; %llu bytes of an "
              "incomplete record at the end were cut off",
              (unsigned long long)r.records, units_s (r.records),
              (unsigned long long)r.entered, r.records == 1 ? "was" : "were",
              (unsigned long long)r.cut);
    if (r.between > 0)
        log_text (level, "damaged", "%llu bytes before some of these records "
                  "are not whole records; they stay: rollcall fsck aggregator "
                  "lists them", (unsigned long long)r.between);
}

static int start_uploads (struct aggregator *a, struct err *err)
{
    struct err why = { "" };
    int rc;

    rc = object_owner_probe_first (a->opt->root, &a->opt->store, &why, err);
    if (rc < 0)                 // these are no keys of agents
        return rc == -EKEYREJECTED ? -EACCES : rc;
    store_sum_needed (a->store);
    if (*why.text)
        log_warn ("store-failed", "%s", why.text);
    rc = uploads_start (a->opt->root, &a->opt->store,
                        (uint64_t)a->opt->cache_size, why.text, &a->uploads,
                        err);
    // it may be back before anybody looks
    a->uploaded.error = *why.text ? EHOSTUNREACH : 0;
    PRINT (a->uploaded.why, "%s", why.text);
    return rc;
}

static int open_disk (struct aggregator *a, struct err *err)
{
    char path[PATH_MAX];
    int rc = root_make_dir (a->opt->root, err);
    const char *remote;

    // before anything is delivered, in case OUT is refused for root
    if (rc == 0 && a->opt->out)
        rc = tree_check_path (a->opt->out, a->opt->foreign, err);
    if (rc < 0)
        return rc;
    if ((remote = fileio_remote_fs (a->opt->root)))
        return err_set (err, ENOTSUP, "%s is on a shared file system (%s), "
                        "where a ledger is not safe: choose a local directory",
                        a->opt->root, remote);
    if (!fileio_join (path, sizeof (path), a->opt->root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s",
                        a->opt->root);
    if ((rc = root_check_backup (a->opt->root, err)) < 0)
        return rc;
    if ((a->root_fd = control_lock (a->opt->root, true, CONTROL_LOCK_NS,
                                    err)) < 0)
        return a->root_fd;
    if ((rc = ledger_open (path, &a->ledger, err)) < 0 ||
        (rc = store_open (a->opt->root, a->ledger, &a->store, err)) < 0 ||
        (rc = ledger_begin_epoch (a->ledger, err)) < 0)
        return rc;
    tell_recovered (a);
    segments_ask (store_segments (a->store), SEGMENTS_HURRY);
    aggregator_open_wants (a);
    return a->opt->store.url ? start_uploads (a, err) : 0;
}

static int open_loop (struct aggregator *a, struct err *err)
{
    int rc;

    if (!(a->loop = loop_create ()))
        return err_set (err, ENOMEM, "no memory to serve");
    if ((rc = loop_add_signals (a->loop, on_signal, a)) < 0)
        return err_sys (err, -rc, "cannot watch for signals");
    if ((a->build_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return err_sys (err, errno, "cannot watch for the end of a build");
    return 0;
}

/* Whether the descriptor that was handed over is a listening socket. */
static bool is_listening (int fd)
{
    int yes = 0;
    socklen_t size = sizeof (yes);

    return getsockopt (fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes;
}

static int send_to (void *arg, const struct net_peer *to,
                    const struct message *m)
{
    struct aggregator *a = arg;

    return net_send (a->net, to, m);
}

/* Find out whether an agent said hello before a restart
 * (aggregator_messages.c), and when: the run began then.
 */
static void look_back (struct aggregator *a)
{
    char path[PATH_MAX];
    struct stat st;

    a->resumed = a->opt->run_dir &&
                 fileio_join (path, sizeof (path), a->opt->run_dir,
                              AGGREGATOR_JOINED) &&
                 stat (path, &st) == 0;
    a->run_ns = a->resumed ? clock_ns (&st.st_mtim) : clock_wall_ns ();
}

static int start_pusher (struct aggregator *a, struct err *err)
{
    const struct pusher_options opt = { a->opt->cluster, a->root_path,
                                        a->program };

    if (!a->opt->postgres || a->opt->job)
        return 0;
    if (!program_beside ("rollcall", a->program))
        return err_set (err, ENOENT, "cannot find rollcall, which pushes");
    return pusher_start (&opt, a->loop, &a->pusher, err);
}

static int aggregator_start (struct aggregator *a, struct err *err)
{
    int rc;

    if (a->opt->listen_fd >= 0 && !is_listening ((int)a->opt->listen_fd))
        return err_set (err, EINVAL, "--listen-fd %d is not a listening "
                        "socket", (int)a->opt->listen_fd);
    look_back (a);
    if ((rc = open_loop (a, err)) < 0 || (rc = open_disk (a, err)) < 0 ||
        (rc = aggregator_find_unbuilt (a, err)) < 0 ||
        (rc = access_open (&a->peer_access, a->opt, &a->net, err)) < 0)
        return rc;
    a->transfers = transfers_create (send_to, a, a->ledger, a->store);
    a->answers = answers_create (a->loop, a->net);
    if (!a->transfers || !a->answers ||
        net_attach (a->net, a->loop, aggregator_on_message, a) < 0 ||
        loop_add_fd (a->loop, a->build_fd, aggregator_on_built, a) < 0)
        return err_set (err, ENOMEM, "no memory to serve");
    transfers_set_extra_work (a->transfers, aggregator_commit_notes, a);
    if (!a->opt->job) {         // a run has only one key, and its root ends
        transfers_share (a->transfers);
        aggregator_count_usage (a);
    }
    if (!realpath (a->opt->root, a->root_path))
        return err_sys (err, errno, "cannot find %s", a->opt->root);
    rc = control_open (a->opt->root, a->loop, aggregator_on_request, a,
                       &a->control, err);
    if (rc == 0)
        rc = start_pusher (a, err);
    return rc == 0 && a->opt->socket && !a->opt->job
               ? control_open_for_users (a->control, a->opt->socket, err) : rc;
}

/* A run's own root is removed when OUT has everything in it.  Otherwise it
 * stays, as acknowledged data may be nowhere else.
 */
static bool root_is_spent (struct aggregator *a)
{
    if (!a->complete || !a->opt->run_dir)
        return false;
    if (a->left > 0) {
        log_warn ("root-kept", "it has versions of captures that are not in "
                  "the result: %s", a->opt->root);
        return false;
    }
    if (aggregator_result_has_all (a, a->over))
        return true;
    log_warn ("root-kept", "data arrived after the result was written: it is "
              "in %s (rollcall build --root %s %s -o OUT makes a result that "
              "has it)", a->opt->root, a->opt->root, a->opt->job);
    return false;
}

static void stop (struct aggregator *a)
{
    struct err err = { "" };
    bool spent;

    aggregator_cancel_build (a);
    pusher_end (a->pusher);
    aggregator_end_gc (a);
    aggregator_end_retention (a);
    uploads_stop (a->uploads);
    end_status (a);
    if (a->transfers && aggregator_has_root (a) &&
        transfers_note_all (a->transfers, &err) < 0)
        log_warn ("commit-failed", "%s", err.text);
    control_close (a->control);
    answers_destroy (a->answers);
    spent = root_is_spent (a);
    transfers_destroy (a->transfers);
    net_close (a->net);
    access_close (&a->peer_access);
    loop_destroy (a->loop);
    store_close (a->store);
    ledger_close (a->ledger);
    fileio_close (a->root_fd);
    aggregator_forget_peers (a);
    while (a->jobs) {
        struct served *next = a->jobs->next;

        job_fini (&a->jobs->job);
        free (a->jobs);
        a->jobs = next;
    }
    fileio_close (a->build_fd);
    aggregator_forget_unbuilt (a);
    aggregator_forget_bound (a);
    job_facts_fini (&a->said);
    wants_fini (&a->wants);
    divide_fini (&a->divided);
    aggregator_end_usage (a);
    if (spent)
        (void)fileio_remove_tree (a->opt->root, NULL);
}

int aggregator_serve (const struct aggregator_options *opt)
{
    int64_t now = clock_mono_ns ();
    struct aggregator a = { .opt = opt, .build_fd = -1, .root_fd = -1,
                            .began_ns = now, .last_peer_ns = now,
                            .floor = { .limit = opt->disk_floor } };
    struct err err = { "" };
    int rc;

    rc = aggregator_start (&a, &err);
    if (rc < 0) {
        log_error ("start-failed", "%s", err.text);
        a.status = access_status (rc);
    } else {
        log_info ("listening", "%s, root %s (%s)", opt->listen, opt->root,
                  access_text (&a.peer_access, opt));
        check_room (&a);
        write_status (&a);
        tick (&a);
        if ((rc = loop_run (a.loop)) < 0) {
            log_error ("loop-failed", "%s", strerror (-rc));
            a.status = EX_OSERR;
        }
    }
    stop (&a);
    return a.status;
}
