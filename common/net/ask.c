/* common/net/ask.c - ask an aggregator, and take its answer piece by piece */
#include "net/ask.h"

#include "base/digest.h"

#include <errno.h>
#include <string.h>

#define TURN_NS NS_PER_S        // it is asked to go on, and shows that it lives
#define ITEM 1                  // of a connection there is one question

struct ask {
    const char *endpoint, *question;
    struct net *net;
    struct loop *loop;
    ask_fn *fn;
    void *arg;
    bool asked;
    uint64_t came[ANSWER_STREAMS];
    uint64_t granted;           // bytes that it may send, of both
    struct digester *digester;
    int64_t silent_ns, until_ns;        // by its turns: a process that was
                                // stopped, or cannot write, hears nothing
    struct ask_end *end;
    struct err *err;
};

static uint64_t came (const struct ask *x)
{
    return x->came[ANSWER_OUT] + x->came[ANSWER_SAID];
}

static void grant (struct ask *x)
{
    struct message m = { .type = MESSAGE_MORE, .item = ITEM,
                         .size = came (x) + ANSWER_WINDOW };

    if (net_send (x->net, NULL, &m) == 0)
        x->granted = m.size;    // else the next turn says it
}

/* It may send no more than before, but should not take this process for dead. */
static void show_life (struct ask *x)
{
    const struct message m = { .type = MESSAGE_MORE, .item = ITEM,
                               .size = x->granted };

    (void)net_send (x->net, NULL, &m);
}

static void say_question (struct ask *x)
{
    struct message m = { .type = MESSAGE_ASK, .item = ITEM,
                         .data = x->question,
                         .data_size = strlen (x->question) };

    x->asked = net_send (x->net, NULL, &m) == 0;
}

/* Give a piece away; without bytes: does anybody want one? */
static int give (struct ask *x, const struct message *m)
{
    int rc;

    while ((rc = x->fn (x->arg, m->stream, m->data, m->data_size)) == -EAGAIN)
        show_life (x);
    return rc == 0 || x->err->text[0]
               ? rc : err_set (x->err, -rc, "%s: its answer cannot be kept: %s",
                               x->endpoint, strerror (-rc));
}

static void on_turn (void *arg)
{
    const struct message none = { .data_size = 0 };
    struct ask *x = arg;
    int64_t now = clock_mono_ns ();
    int rc = give (x, &none);

    x->silent_ns += x->asked ? TURN_NS : TURN_NS / 20;
    if (rc < 0) {
        loop_stop (x->loop, rc);
        return;
    }
    if (x->silent_ns > ASK_SILENT_NS || now > x->until_ns) {
        loop_stop (x->loop, err_set (x->err, ETIMEDOUT, now > x->until_ns
                                     ? "%s: its answer comes to no end"
                                     : x->came[ANSWER_OUT] > 0
                                     ? "%s: it says nothing more"
                                     : "%s: it does not answer", x->endpoint));
        return;
    }
    if (!x->asked)              // there is no connection yet
        say_question (x);
    if (x->asked)
        grant (x);
    if (loop_add_timer (x->loop, x->asked ? TURN_NS : TURN_NS / 20, on_turn,
                        x) < 0)
        loop_stop (x->loop, err_set (x->err, ENOMEM, "no memory to ask"));
}

static void on_problem (void *arg, enum net_problem what, const char *text)
{
    struct ask *x = arg;

    if (what != NET_SLOW)
        loop_stop (x->loop,
                   err_set (x->err, what == NET_KEY_REFUSED ? EACCES
                                                            : EHOSTUNREACH,
                            "%s", text));
}

/* ---- what comes ---- */

static int no_answer (struct ask *x)
{
    return err_set (x->err, EBADMSG, "%s: its answer is damaged, or none",
                    x->endpoint);
}

static int take_piece (struct ask *x, const struct message *m)
{
    int rc;

    if (m->offset != x->came[m->stream] || m->data_size > ANSWER_PIECE_MAX ||
        m->data_size > x->granted - came (x))
        return no_answer (x);
    if (m->data_size == 0)
        return 0;               // it lives
    if (m->stream == ANSWER_OUT &&
        digest_add (x->digester, m->data, m->data_size) < 0)
        return err_set (x->err, ENOMEM, "no memory to ask");
    if ((rc = give (x, m)) < 0)
        return rc;
    x->came[m->stream] += m->data_size;
    if (x->granted - came (x) < ANSWER_WINDOW / 2)
        grant (x);
    return 0;
}

/* An aggregator that was started again knows nothing of what has come. */
static int take_end (struct ask *x, const struct message *m)
{
    struct digest d;

    if (m->status != 0 && m->size == 0 && x->came[ANSWER_OUT] > 0)
        return err_set (x->err, EAGAIN, "%s: %s", x->endpoint, m->text);
    if (digest_end (x->digester, &d) < 0)
        return err_set (x->err, ENOMEM, "no memory to ask");
    if (m->size != x->came[ANSWER_OUT] || !digest_is (&d, &m->content))
        return no_answer (x);
    x->end->status = (int)m->status;
    PRINT (x->end->text, "%s", m->text);
    return 1;
}

static void on_message (void *arg, const struct net_peer *from,
                        const struct message *m, int bad,
                        const struct err *err)
{
    struct ask *x = arg;
    int rc = 0;

    (void)from;
    (void)bad;
    (void)err;
    x->silent_ns = 0;
    if (m && m->type == MESSAGE_REFUSED)
        rc = err_set (x->err, m->reason == REFUSAL_VERSION ? EPROTONOSUPPORT
                              : m->reason == REFUSAL_KEY   ? EACCES
                                                           : EAGAIN,
                      "%s: %s", x->endpoint, m->text);
    else if (m && m->type == MESSAGE_OUTPUT && m->item == ITEM && x->asked)
        rc = take_piece (x, m);
    else if (m && m->type == MESSAGE_END && m->item == ITEM && x->asked)
        rc = take_end (x, m);
    else
        rc = no_answer (x);
    if (rc != 0)
        loop_stop (x->loop, rc);
}

int net_ask (const char *endpoint, const struct net_security *security,
             const char *question, int64_t longest_ns, ask_fn *fn, void *arg,
             struct ask_end *ret, struct err *err)
{
    struct ask x = { .endpoint = endpoint, .question = question, .fn = fn,
                     .arg = arg, .end = ret, .err = err,
                     .loop = loop_create (), .digester = digester_create (),
                     .until_ns = clock_mono_ns () + longest_ns };
    int rc = x.loop && x.digester ? 0 : err_set (err, ENOMEM,
                                                 "no memory to ask");

    *ret = (struct ask_end){ .status = 0 };
    if (rc == 0)
        rc = net_connect (endpoint, security, &x.net, err);
    if (rc == 0) {
        net_watch (x.net, on_problem, &x);
        if (net_attach (x.net, x.loop, on_message, &x) < 0 ||
            loop_add_timer (x.loop, 0, on_turn, &x) < 0)
            rc = err_set (err, ENOMEM, "no memory to ask");
    }
    if (rc == 0)
        rc = loop_run (x.loop);
    net_close (x.net);
    loop_destroy (x.loop);
    digester_destroy (x.digester);
    return rc < 0 ? rc : 0;
}
