/* aggregator/builder/topology.h - the switch and rack of each host
 *
 * The file has lines "host,switch" or "host,switch,rack".  Empty lines, lines
 * that begin with # and spaces around fields are ignored.
 */
#ifndef ROLLCALL_BUILDER_TOPOLOGY_H
#define ROLLCALL_BUILDER_TOPOLOGY_H

#include "base/err.h"

#include <stddef.h>

#define TOPOLOGY_BYTES_MAX (16u << 20)  // of the file: 100,000 hosts have 4 MB

struct topology_host {
    const char *host, *sw, *rack;       // into 'text'; rack may be NULL
};

struct topology {
    char *text;
    struct topology_host *hosts;
    size_t n;
};

/* On failure *ret is all zero: -ENOENT and the like, -EFBIG, or -EINVAL
 * with 'err' naming the wrong line, also for a host that is named twice.
 */
int topology_read (const char *path, struct topology *ret, struct err *err);
void topology_fini (struct topology *t);

#endif
