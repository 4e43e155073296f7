/* tests/fuzz/fuzz_job_lists.c - the lists of jobs that two aggregators print, one
 * behind a NUL byte of the other, are printed as one
 */
#include "jobs/jobs_of_all.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static const uint8_t *lists[2];
static size_t sizes[2];

struct place_answer *__wrap_places_ask (const struct cli_places *p,
                                        const struct json *request);

struct place_answer *__wrap_places_ask (const struct cli_places *p,
                                        const struct json *request)
{
    struct place_answer *a = calloc (p->n, sizeof (*a));

    (void)request;
    for (size_t i = 0; a && i < p->n; i++) {
        a[i].place = &p->list[i];
        buf_init (&a[i].out, PLACE_LIST_MAX);
        buf_init (&a[i].said, PLACE_SAID_MAX);
        buf_put (&a[i].out, lists[i], sizes[i]);
    }
    return a;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const struct command_spec c = { "rollcall jobs", "", "", NULL, 0 };
    static const struct cli_places places = {
        .list = { { "A", NULL }, { "B", NULL } }, .n = 2,
    };
    const uint8_t *at = size > 0 ? memchr (data, '\0', size) : NULL;
    static FILE *nowhere;

    if (!nowhere && !(nowhere = freopen ("/dev/null", "w", stdout)))
        abort ();
    lists[0] = data;
    sizes[0] = at ? (size_t)(at - data) : size;
    lists[1] = at ? at + 1 : data;
    sizes[1] = at ? size - sizes[0] - 1 : 0;
    (void)jobs_of_all (&c, &places, NULL, NULL, false, 80, NULL);
    (void)jobs_of_all (&c, &places, NULL, NULL, true, 0, NULL);
    return 0;
}
