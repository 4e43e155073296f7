/* common/base/pace.c - how long to wait until a piece of work is done again */
#include "base/pace.h"

int64_t pace_pause (struct pace *p, int64_t took_ns, int64_t times,
                    int64_t least_ns, int64_t most_ns)
{
    int64_t ns = took_ns < p->last_ns ? took_ns : p->last_ns;

    p->last_ns = took_ns;
    if (ns > most_ns / times)
        return most_ns;
    return ns * times > least_ns ? ns * times : least_ns;
}
