/* cli/check/check_net.c - check keys, and whether an aggregator can be reached
 */
#include "check/check.h"

#include "base/clock.h"
#include "net/keyring.h"
#include "ship/clock_sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#define ANSWER_NS (5 * NS_PER_S)        // an aggregator that is well needs ms
#define AGAIN_NS (100 * NS_PER_MS)
#define ANSWERS 3               // the quickest of them tells the time best

/* ---- keys ---- */

static void count_keys (const struct keyring_entry *list, size_t n, time_t now,
                        unsigned counts[KEY_REVOKED + 1], unsigned *over)
{
    for (size_t i = 0; i < n; i++) {
        counts[list[i].state]++;
        *over += list[i].state == KEY_ROTATED && list[i].file.until > 0 &&
                 list[i].file.until < now;
    }
}

struct check check_keys (const char *dir)
{
    struct check c = { .name = "keys" };
    struct key_file own;
    struct keyring_entry *list = NULL;
    unsigned counts[KEY_REVOKED + 1] = { 0 }, over = 0;
    char path[PATH_MAX], fingerprint[KEY_FINGERPRINT_SIZE];
    struct err err = { "" };
    size_t n = 0;
    int rc;

    if (access (dir, F_OK) < 0 && errno == ENOENT) {
        SAY (c, CHECK_OK, "none in %.300s: runs make their own, and on "
             "loopback none are needed; for other hosts: rollcall key new "
             "server", dir);
        return c;
    }
    PRINT (path, "%.4000s/" KEYRING_SERVER ".key", dir);
    rc = key_read (path, &own, &err);
    if (rc == 0 || rc == -ENOENT) {
        int listed = keyring_list (dir, &list, &n, NULL, NULL, &err);

        rc = listed < 0 ? listed : rc;
    }
    if (rc < 0 && rc != -ENOENT) {
        SAY (c, CHECK_PROBLEM, "%.500s", err.text);
        return c;
    }
    count_keys (list, n, (time_t)(clock_wall_ns () / NS_PER_S), counts, &over);
    free (list);
    if (rc == 0) {
        key_fingerprint (own.public_key, fingerprint);
        explicit_bzero (&own, sizeof (own));
        SAY (c, counts[KEY_ENROLLED] > 0 ? CHECK_OK : CHECK_WARNING,
             "server is %s; %u enrolled, %u rotated (%u too old), %u revoked "
             "in %.200s%s", fingerprint, counts[KEY_ENROLLED],
             counts[KEY_ROTATED], over, counts[KEY_REVOKED], dir,
             c.state ? ": no node may connect, see rollcall key enrol" : "");
    } else {
        SAY (c, CHECK_OK, "%u of this host's own, no server.key in %.300s: an "
             "aggregator here needs one (rollcall key new server)",
             counts[KEY_OWN], dir);
    }
    return c;
}

/* ---- the clock ---- */

struct check check_synchronised (void)
{
    struct check c = { .name = "clock-sync" };
    struct timex t = { .modes = 0 };
    int state = adjtimex (&t);

    if (state < 0)
        SAY (c, CHECK_OK, "is not known: %s", strerror (errno));
    else if (state == TIME_ERROR || (t.status & STA_UNSYNC))
        SAY (c, CHECK_WARNING, "the clock follows no time server: times of "
             "several hosts cannot be compared; run chrony or another NTP "
             "client (in a virtual machine the host may do it unseen)");
    else
        SAY (c, CHECK_OK, "the clock follows a time server; off by %.3f s at "
             "most", (double)t.maxerror / 1e6);
    return c;
}

/* ---- an aggregator ---- */

struct probe {
    struct loop *loop;
    struct net *net;
    struct clock_sync clock;
    unsigned answers;
    int64_t took_ns;            // the quickest answer
    char why[400];              // what is wrong, "" nothing yet
};

static void no_answer (void *arg)
{
    struct probe *p = arg;

    loop_stop (p->loop, -ETIMEDOUT);
}

/* Send a message without a job, which is answered and has no other effect. */
static void check_net_ask (void *arg)
{
    struct probe *p = arg;
    struct message m = { .type = MESSAGE_HELLO, .sent_ns = clock_mono_ns (),
                         .wall_ns = clock_wall_ns (),
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)net_send (p->net, NULL, &m);
    (void)loop_add_timer (p->loop, AGAIN_NS, check_net_ask, p);
}

static void fail (struct probe *p, const char *why)
{
    PRINT (p->why, "%.399s", why);
    loop_stop (p->loop, -ECONNREFUSED);
}

static void on_answer (void *arg, const struct net_peer *from,
                       const struct message *m, int bad, const struct err *err)
{
    struct probe *p = arg;
    int64_t now = clock_mono_ns (), took;

    (void)from;
    if (!m && bad == -EPROTONOSUPPORT) {
        fail (p, err->text);
    } else if (m && m->type == MESSAGE_REFUSED) {
        fail (p, m->text);
    } else if (m && m->type == MESSAGE_WELCOME) {
        took = now - m->sent_ns;
        p->took_ns = p->answers == 0 || took < p->took_ns ? took : p->took_ns;
        (void)clock_sync_take (&p->clock, m->sent_ns, now, clock_wall_ns (),
                               m->wall_ns);
        if (++p->answers == ANSWERS)
            loop_stop (p->loop, 0);
        else
            check_net_ask (p);
    }
}

static void on_problem (void *arg, enum net_problem what, const char *text)
{
    struct probe *p = arg;

    if (what == NET_SLOW || what == NET_UNREACHED)      // perhaps the next try
        PRINT (p->why, "%.399s", text);
    else
        fail (p, text);
}

static int run_probe (struct probe *p, const char *endpoint,
                      const struct net_security *security, struct err *err)
{
    int rc = -ENOMEM;

    if (!(p->loop = loop_create ()))
        return err_set (err, ENOMEM, "no memory");
    if ((rc = net_connect (endpoint, security, &p->net, err)) == 0) {
        if (net_attach (p->net, p->loop, on_answer, p) < 0 ||
            loop_add_timer (p->loop, ANSWER_NS, no_answer, p) < 0)
            rc = err_set (err, ENOMEM, "no memory");
        net_watch (p->net, on_problem, p);
    }
    if (rc == 0) {
        check_net_ask (p);
        rc = loop_run (p->loop);
        if (rc < 0 && p->why[0])
            err_set (err, -rc, "%s", p->why);
        else if (rc < 0)
            err_set (err, -rc, "%s does not answer within 5 s: is it running, "
                     "is the port right, is a firewall in between?", endpoint);
    }
    net_close (p->net);
    loop_destroy (p->loop);
    return rc;
}

struct check check_aggregator (const char *endpoint,
                               const struct net_security *security,
                               struct check *offset)
{
    struct check c = { .name = "aggregator" };
    struct probe p = { .loop = NULL };
    struct err err = { "" };

    *offset = (struct check){ .name = "clock-offset" };
    if (run_probe (&p, endpoint, security, &err) < 0) {
        SAY (c, CHECK_PROBLEM, "%.500s", err.text);
        SAY (*offset, CHECK_WARNING, "not known: no aggregator has answered");
        return c;
    }
    SAY (c, CHECK_OK, "%.64s answers within %.1f ms, protocol %u, %s", endpoint,
         (double)p.took_ns / 1e6, MESSAGE_VERSION,
         security && !security->insecure ? "encrypted" : "not encrypted");
    SAY (*offset, clock_sync_is_off (&p.clock) ? CHECK_WARNING : CHECK_OK,
         "the aggregator's clock minus this host's is %.6f s, give or take "
         "%.6f s%s", (double)p.clock.offset_ns / (double)NS_PER_S,
         (double)p.clock.error_ns / (double)NS_PER_S,
         offset->state ? ": run an NTP client on both" : "");
    return c;
}
