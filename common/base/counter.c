/* common/base/counter.c - count events of this process */
#include "base/counter.h"

#include <stdatomic.h>

static _Atomic uint64_t values[COUNTER_COUNT];

#define COUNTER_NAME(id, name, what) name,
static const char *const names[COUNTER_COUNT] = { COUNTERS (COUNTER_NAME) };
#undef COUNTER_NAME

void counter_add (enum counter c, uint64_t n)
{
    atomic_fetch_add_explicit (&values[c], n, memory_order_relaxed);
}

uint64_t counter_get (enum counter c)
{
    return atomic_load_explicit (&values[c], memory_order_relaxed);
}

const char *counter_name (enum counter c)
{
    return names[c];
}
