/* node_agent/extract/kineto/kineto_known.c - remember what names of events mean
 */
#include "extract/kineto/kineto_known.h"

#include <string.h>

/* Kernels made from one template have the same size and the same ends. */
static unsigned slot_of (struct span cat, struct span name)
{
    uint64_t words[2] = { 0, 0 };
    size_t half = name.n / 2 < 8 ? name.n / 2 : 8;

    memcpy (&words[0], name.s + name.n - half, half);
    memcpy (&words[1], name.s + name.n / 2 - half / 2, half);
    words[0] = (words[0] ^ words[1] << 7 ^ name.n ^ cat.n << 8) *
               UINT64_C (0x9e3779b97f4a7c15);
    return (unsigned)(words[0] >> 57);
}

_Static_assert (KINETO_KNOWN == 128, "7 bits");

static void find_out (struct kineto_known *k, struct span cat,
                      struct span name)
{
    k->kind = (uint8_t)kineto_gpu_kind (cat, name);
    k->starts = kineto_starts_work (name);
    k->has_number = false;
    k->nname = 0;
    if (cat.n > KINETO_KNOWN_CAT || name.n > KINETO_KNOWN_NAME ||
        name.n == 0)
        return;
    k->ncat = (uint8_t)cat.n;
    k->nname = (uint16_t)name.n;
    memcpy (k->cat, cat.s, cat.n);
    memcpy (k->name, name.s, name.n);
}

struct kineto_known *kineto_know (struct kineto_known known[KINETO_KNOWN],
                                  struct span cat, struct span name)
{
    struct kineto_known *k = &known[name.n > 0 ? slot_of (cat, name) : 0];

    if (k->nname == 0 || k->nname != name.n || k->ncat != cat.n ||
        memcmp (k->name, name.s, name.n) != 0 ||
        memcmp (k->cat, cat.s, cat.n) != 0)
        find_out (k, cat, name);
    return k;
}
