/* tests/unit/node_agent/extract/timeline/test_trace_scan.c - events of a trace,
 * as they are if nothing is remembered of the events before
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "extract/timeline/trace_scan.h"

#include <inttypes.h>
#include <stdlib.h>

static bool wanted (void *arg, uint64_t pid)
{
    (void)arg;
    return pid != 7;
}

static void dump_time (struct buf *out, const char *name,
                       const struct trace_time *t)
{
    int64_t ns = -1;
    double exact = -1;

    if (t->n == 0)
        return;
    (void)trace_time_ns (t, &ns);
    (void)trace_time_exact (t, &exact);
    buf_printf (out, " %s %" PRId64 " %a", name, ns, exact);
}

static void dump_event (struct buf *out, const struct trace_event *e)
{
    const struct trace_task *t = &e->task;

    buf_printf (out, "%d %d %" PRIx64 " %d %" PRIx64 " %" PRIx64, e->ph, e->cat,
                e->pid, e->has_pid, e->tid, e->id);
    dump_time (out, "ts", &e->ts);
    dump_time (out, "dur", &e->dur);
    buf_printf (out, " %u %s, %s: %d %d %d %d %d %d %" PRId64 " %" PRId64
                " %" PRId64 "\n", e->name_size, e->name, e->text, t->known,
                t->has_kind, t->kind, t->transport, t->link, t->type, t->size,
                t->src, t->dst);
}

#define BEHIND (SCAN_AHEAD + 64u)       // blanks, so that keys are remembered

/* The events of a document behind 'blanks' blanks.  With 'forget' each is read
 * as if it was the first one.
 */
static char *dump (const char *doc, size_t blanks, bool forget)
{
    static struct trace_scan t;
    static struct trace_event e;
    size_t n = strlen (doc);
    size_t size = blanks + n + BEHIND;
    char *text = malloc (size), *all;
    struct scan_bytes bytes = { text, size };
    struct buf out;

    assert_non_null (text);
    memset (text, ' ', size);
    memcpy (text + blanks, doc, n);
    buf_init (&out, 1u << 20);
    assert_int_equal (scan_init (&t.s, scan_read_bytes, &bytes), 0);
    trace_scan_begin (&t, wanted, NULL);
    while (trace_scan_next (&t, &e)) {
        dump_event (&out, &e);
        if (forget) {
            key_predictor_init (&t.event_keys, t.event_keys.fields,
                                t.event_keys.nfields);
            key_predictor_init (&t.arg_keys, t.arg_keys.fields,
                                t.arg_keys.nfields);
        }
    }
    buf_printf (&out, "%" PRIu64 " %" PRIu64 " %u %s", t.events, t.s.bad_utf8,
                t.s.depth, t.s.err.text);
    scan_fini (&t.s);
    free (text);
    all = strdup (buf_text (&out));
    assert_non_null (all);
    buf_fini (&out);
    return all;
}

/* What is remembered changes nothing, wherever the buffer ends. */
static void check (const char *doc)
{
    size_t n = strlen (doc);

    for (size_t left = 0; left <= n; left += left < 40 ? 1 : 199) {
        size_t blanks = left ? SCAN_BUFFER - left : 0;
        char *want = dump (doc, blanks, true), *got = dump (doc, blanks, false);

        assert_string_equal (got, want);
        free (want);
        free (got);
    }
}

/* Two blanks behind each colon: no value is where it is expected. */
static char *spread (const char *doc)
{
    size_t n = 0;
    char *out = malloc (3 * strlen (doc) + 1);

    assert_non_null (out);
    for (const char *p = doc; *p; p++) {
        out[n++] = *p;
        if (p[0] == ':' && p > doc && p[-1] == '"') {
            out[n++] = ' ';
            out[n++] = ' ';
        }
    }
    out[n] = '\0';
    return out;
}

/* A document without damage: other blanks change nothing, either. */
static void check_good (const char *doc)
{
    char *wide = spread (doc), *want = dump (wide, 0, true);
    char *got = dump (doc, 0, false);

    assert_string_equal (got, want);
    free (wide);
    free (want);
    free (got);
    check (doc);
}

#define TASK(name, ts, dur, kind, src, dst, link, size) \
    "{\"name\": \"" name "\", \"pid\": 3, \"tid\": 12, \"ts\": " ts \
    ", \"dur\": " dur ", \"args\": {\"notify_id\": \"0\", \"stream id\": 4, " \
    "\"task type\": " kind ", \"src rank\": " src ", \"dst rank\": " dst \
    ", \"transport type\": " link ", \"size(Byte)\": " size \
    ", \"link type\": \"ROCE\"}, \"ph\": \"X\"}"

static void test_tasks (void **state)
{
    (void)state;
    check_good (
        "[" TASK ("Memcpy", "\"1763978401491973.300\"", "0.02", "\"Memcpy\"",
                  "15", "0", "\"SDMA\"", "33554432") ", "
        TASK ("Notify_Wait", "\"1763978401491974.5\"", "1724.040", "\"\"",
              "15", "4294967295", "\"RDMA\"", "0") ", "
        TASK ("Memcpy", "1763978401491975", "1e-05", "\"Memcpy\"", "15", "0",
              "\"SDMA\"", "33554433") ", "
        TASK ("", "\"1.5e3\"", "0", "null", "-1", "\"7\"", "null",
              "99999999999999999999") ", "
        TASK ("Memcpy", "12345678", "123456789.0123456789", "\"Memcpy\"",
              "[1, 2]", "{}", "{\"a\": 1}", "9223372036854775808") ", "
        TASK ("Memcpy", "12345678", "123456789.0123456789", "\"Memcpy\"",
              "[1, 2]", "{}", "{\"a\": 1}", "9223372036854775807") "]");
}

/* Kinds of events in turn, of some with other keys and blanks. */
static void test_kinds (void **state)
{
    static const char *const kinds[] = {
        "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 7, \"tid\": 0, "
        "\"args\": {\"name\": \"Communication\"}}",
        "{\"name\":\"a\",\"pid\":7,\"tid\":1,\"ts\":1.5,\"dur\":2,\"ph\":\"X\","
        "\"cat\":\"cpu_op\",\"args\":{\"Call stack\": \"x:1; {\\\"\"}}",
        "{\"name\": \"torch\", \"pid\": \"text\", \"tid\": \"12\", \"id\": 3, "
        "\"ts\": \"5\", \"cat\": \"HostToDevice\", \"ph\": \"s\"}",
        "{}", "{\"args\": {}}", "{\"name\": 5, \"pid\": 8, \"ph\": \"XX\"}",
        "{\"pid\": 8, \"args\": {\"labels\": \"NPU 1\", \"Task Type\": "
        "\"AI_CORE\"}, \"cat\": \"GC\", \"cat\": \"other\"}",
        "{\"pid\": 8, \"args\": {\"labels\": 2, \"Task Type\": 1}, \"cat\": 7}",
        "{ \"na\\u006de\" : \"\\u00e4\\n\", \"pid\" : 1, \"x\": [{\"b\": 2}]}",
    };
    struct buf doc;

    (void)state;
    buf_init (&doc, 1u << 16);
    buf_printf (&doc, "{\"other\": 1, \"traceEvents\": [");
    for (unsigned i = 0; i < 40; i++)
        buf_printf (&doc, "%s%s", i == 0 ? "" : i % 3 ? ", " : ",\n",
                    kinds[i * i % 9]);
    buf_printf (&doc, "], \"more\": []}");
    check_good (buf_text (&doc));
    buf_fini (&doc);
}

/* A value that begins as the last one, or is a part of it. */
static void test_prefixes (void **state)
{
    (void)state;
    check_good ("[{\"pid\": 1, \"tid\": 12}, {\"pid\": 12, \"tid\": 1}, "
                "{\"pid\": 123456789012345, \"tid\": 1.5}, "
                "{\"pid\": 1234567890123456, \"tid\": 1}, "
                "{\"pid\": 123456789012345678, \"tid\": \"1\"}]");
}

/* A byte that is not UTF-8 counts each time. */
static void test_bad_utf8 (void **state)
{
    (void)state;
    check_good ("[{\"cat\": \"a\xff\", \"pid\": 1}, {\"cat\": \"a\xff\", "
                "\"pid\": 1}, {\"cat\": \"a\xff\", \"pid\": 1}]");
    check_good ("[{\"name\": \"a\xff\", \"pid\": 1}, {\"name\": \"a\xff\"}]");
}

static void test_long_names (void **state)
{
    (void)state;
    for (unsigned n = TRACE_NAME_MAX - 2; n <= TRACE_NAME_MAX + 1; n++) {
        char name[TRACE_NAME_MAX + 2];
        struct buf doc;

        memset (name, 'n', n);
        name[n] = '\0';
        buf_init (&doc, 1u << 16);
        buf_printf (&doc, "[{\"name\": \"%s\", \"pid\": 1}, {\"name\": \"%s\", "
                    "\"pid\": 2}]", name, name);
        check_good (buf_text (&doc));
        buf_fini (&doc);
    }
}

/* The same sentence, at the same byte. */
static void test_damage (void **state)
{
    static const char *const ends[] = {
        "{\"name\": \"b\", \"pid\": 1, \"ph\": \"X\"]",
        "{\"name\": \"b\", \"pid\": 1 \"ph\": \"X\"}]",
        "{\"name\": \"b\", \"pid\": 01, \"ph\": \"X\"}]",
        "{\"name\": \"b\", \"pid\": 1., \"ph\": \"X\"}]",
        "{\"name\": \"b\", \"pid\": , \"ph\": \"X\"}]",
        "{\"name\": \"b\", \"pid\": \"1, \"ph\": \"X\"}]",
        "{\"name\": \"b\n\", \"pid\": 1, \"ph\": \"X\"}]",
        "{\"name\": \"b\", \"pid\": 1, \"ph\": \"X\"}",
        "{\"name\": \"b\", \"pi",
        "{\"name\": \"b\", \"pid\": 1, \"ph\": \"X", ", {\"name\": \"b\"}]",
        "{\"name\": \"b\", \"pid\": 1, \"ph\": \"X\"}}]",
        "{, \"name\": \"b\"}]",
        "{\"name\": \"b\", \"pid\": 1, \"ph\": \"X\"},]", "5]", "", "] x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]); i++) {
        char doc[400];

        (void)snprintf (doc, sizeof (doc), "[{\"name\": \"a\", \"pid\": 1, "
                        "\"ph\": \"X\"}, {\"name\": \"a\", \"pid\": 1, "
                        "\"ph\": \"X\"}, %s", ends[i]);
        check (doc);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_tasks),
        cmocka_unit_test (test_kinds),
        cmocka_unit_test (test_prefixes),
        cmocka_unit_test (test_bad_utf8),
        cmocka_unit_test (test_long_names),
        cmocka_unit_test (test_damage),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
