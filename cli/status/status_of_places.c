/* cli/status/status_of_places.c - what several aggregators are doing */
#include "status/status_of_places.h"

#include "several/ask_places.h"
#include "shared/view.h"
#include "status/daemons.h"

#include "base/utf8.h"
#include "json/json_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place_status {
    const struct cli_place *place;
    struct place_answer *answer;        // NULL: it is a root of this host
    struct json *doc;           // of the answer
    int status;                 // not 0: it cannot be shown; and why
    char why[ERR_TEXT_MAX];
};

static void look_at (struct place_status *s)
{
    struct place_answer *a = s->answer;

    if (!a && access (s->place->name, R_OK | X_OK) < 0) {
        s->status = errno == EACCES ? EX_NOPERM : EX_NOINPUT;
        PRINT (s->why, "%s", strerror (errno));
    } else if (a && a->status != 0) {
        s->status = place_answer_status (a);
        PRINT (s->why, "%s", place_answer_why (a));
    } else if (a) {
        s->doc = json_parse ((const char *)a->out.data, a->out.size, NULL);
        if (json_is_array (json_get (s->doc, "daemons")) &&
            a->out.data[0] == '{')
            return;
        s->status = EX_DATAERR;
        PRINT (s->why, "its answer is damaged, or none");
    }
}

static int place_to_text (const struct place_status *s, bool first)
{
    struct daemons f = { .g = grid_create (stdout, GRID_TABLE, cli_width (-1)) };
    const struct json *list = json_get (s->doc, "daemons");
    int rc;

    if (!f.g)
        return -ENOMEM;
    (void)printf ("%s%s\n", first ? "" : "\n", s->place->name);
    if (!s->answer)
        daemons_of_root (&f, s->place->name);
    for (const struct json *d = json_first (list); d; d = json_next (d))
        daemons_text (&f, json_get (d, "status"),
                      json_is_true (json_get (d, "alive")));
    if (f.n == 0)
        (void)printf ("no daemon is running there\n");
    rc = f.n > 0 ? grid_finish (f.g) : 0;
    grid_destroy (f.g);
    return rc;
}

static int place_to_json (const struct place_status *s, bool first)
{
    const struct buf *out = s->answer ? &s->answer->out : NULL;
    const char *name = s->place->name;
    struct daemons f = { .json = true };

    if (!first)
        (void)fputs (",\n", stdout);
    if (out) {
        place_put_object (name, (const char *)out->data,
                          out->size - (out->data[out->size - 1] == '\n'),
                          stdout);
        return 0;
    }
    (void)fputs ("{\"at\": ", stdout);
    json_out_string (stdout, name, strlen (name));
    (void)fputs (", \"daemons\": [", stdout);
    daemons_of_root (&f, name);
    (void)fputs ("]}", stdout);
    return 0;
}

static void put_silent (const struct place_status *list, size_t n)
{
    struct json_out out = { .f = stdout, .comma = ", ", .colon = ": ",
                            .more = true };

    json_out_open_of (&out, "not_answered", '[');
    for (size_t i = 0; i < n; i++) {
        if (list[i].status == 0)
            continue;
        json_out_open (&out, '{');
        json_out_text_of (&out, "at", list[i].place->name);
        json_out_text_of (&out, "reason", list[i].why);
        json_out_close (&out, '}');
    }
    json_out_close (&out, ']');
}

/* A block for each; the status is the worst. */
static int show_list (const struct command_spec *c, struct place_status *list,
                      size_t n, bool json)
{
    char shown[UTF8_ESCAPED (ERR_TEXT_MAX)];
    int worst = 0, rc = 0;
    bool first = true;

    if (json)
        (void)fputs ("{\"places\": [", stdout);
    for (size_t i = 0; i < n && rc == 0; i++) {
        look_at (&list[i]);
        if (list[i].status != 0) {
            worst = list[i].status > worst ? list[i].status : worst;
            (void)cli_fail (c, 0, "%s %s: %s",
                            list[i].place->name,
                            place_silence (list[i].status),
                            utf8_escape (list[i].why, UTF8_LINES, shown));
            continue;
        }
        rc = (json ? place_to_json : place_to_text) (&list[i], first);
        first = false;
    }
    if (json) {
        (void)fputs ("]", stdout);
        put_silent (list, n);
        (void)fputs ("}\n", stdout);
    }
    rc = cli_flush (c, rc);
    return rc ? rc : worst;
}

/* Those of other hosts are asked at the same time: NULL if there are none, or
 * without memory.
 */
static struct place_answer *ask_far (const struct cli_places *p,
                                     struct cli_places *far)
{
    struct json *request = cli_view_words ("status", (const char *[]){ "--json",
                                                                       NULL },
                                           NULL);
    struct place_answer *a;

    far->n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->list[i].security)
            far->list[far->n++] = p->list[i];
    }
    a = far->n > 0 ? places_ask (far, request) : NULL;
    json_free (request);
    return a;
}

int status_of_places (const struct command_spec *c, const struct cli_places *p,
                      bool json)
{
    struct place_status *list = calloc (p->n, sizeof (*list));
    struct cli_places far;
    struct place_answer *a = ask_far (p, &far);
    int status;

    for (size_t i = 0, k = 0; list && i < p->n; i++) {
        list[i].place = &p->list[i];
        if (a && p->list[i].security)
            list[i].answer = &a[k++];
    }
    status = !list || (far.n > 0 && !a)
                 ? cli_fail (c, EX_OSERR, "no memory to ask several aggregators")
                 : show_list (c, list, p->n, json);
    for (size_t i = 0; list && i < p->n; i++)
        json_free (list[i].doc);
    place_answers_free (a, far.n);
    free (list);
    return status;
}
