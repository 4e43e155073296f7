/* aggregator/waits/arrival.c - the last rank to arrive at a collective op
 *
 * This folder: who waited for whom, in each op.
 */
#include "waits/arrival.h"

#include "base/texts.h"

#include <ctype.h>
#include <string.h>

#define US_PER_MS 1000.0
#define KIND_MAX 64

/* Compare the letters before "__", in lower case: "hcom_allReduce__097_4_1",
 * "nccl_all_gather__...".
 */
static void kind_of (const char *op, size_t n, char out[KIND_MAX])
{
    size_t used = 0;

    for (size_t i = 0; i < n && used + 1 < KIND_MAX; i++) {
        if (i > 0 && i + 1 < n && op[i] == '_' && op[i + 1] == '_')
            break;
        if (isalpha ((unsigned char)op[i]))
            out[used++] = (char)tolower ((unsigned char)op[i]);
    }
    out[used] = '\0';
}

bool arrival_is_mutual (const char *op, size_t n)
{
    static const char *const kinds[] = {
        "allreduce", "reducescatter", "allgather", "alltoall", "barrier",
        "send", "recv", "receive",
    };
    char kind[KIND_MAX];

    kind_of (op, n, kind);
    for (size_t i = 0; i < sizeof (kinds) / sizeof (kinds[0]); i++) {
        if (strstr (kind, kinds[i]))
            return true;
    }
    return false;
}

uint64_t arrival_key (const char *op, size_t n, bool p2p)
{
    const char *tail = p2p ? strstr (op, "__") : NULL;
    bool send, receive;
    char kind[KIND_MAX];

    if (!tail)
        return texts_hash (op, n);
    kind_of (op, n, kind);
    send = strstr (kind, "send");
    receive = strstr (kind, "rec");
    return send != receive ? texts_hash (tail, n - (size_t)(tail - op)) ^ 1
                           : texts_hash (op, n);
}

enum arrival_set arrival_judge (const struct op_row *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (a[i].rank == a[i - 1].rank)
            return ARRIVAL_AMBIGUOUS;
    }
    return n < a->size   ? ARRIVAL_INCOMPLETE
           : n > a->size ? ARRIVAL_AMBIGUOUS
                         : ARRIVAL_WHOLE;
}

bool arrival_by_start (const struct op_row *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!a[i].by_start)
            return false;
    }
    return true;
}

bool arrival_fits (const struct op_row *a, size_t n)
{
    double last_us = a->start_us;

    for (size_t i = 1; i < n; i++)
        last_us = a[i].start_us > last_us ? a[i].start_us : last_us;
    for (size_t i = 0; i < n; i++) {
        if (a[i].start_us + a[i].elapse_ms * US_PER_MS < last_us)
            return false;
    }
    return true;
}

size_t arrival_wait (const struct op_row *a, size_t n, double *wait_ms)
{
    bool by_start = arrival_by_start (a, n);
    size_t late = 0;

    for (size_t i = 1; i < n; i++) {
        if (by_start ? a[i].start_us > a[late].start_us
                     : a[i].elapse_ms < a[late].elapse_ms)
            late = i;
    }
    for (size_t i = 0; i < n; i++) {
        double w = by_start ? (a[late].start_us - a[i].start_us) / US_PER_MS
                            : a[i].elapse_ms - a[late].elapse_ms;

        wait_ms[i] = w > a[i].elapse_ms ? a[i].elapse_ms : w;
    }
    return late;
}
