/* cli/status/daemons.h - what daemons say of themselves, as text or JSON
 *
 * Each daemon writes status.json into its spool or root (doc/architecture.md).
 */
#ifndef ROLLCALL_STATUS_DAEMONS_H
#define ROLLCALL_STATUS_DAEMONS_H

#include "json/json.h"
#include "query/grid.h"

#include <stdbool.h>
#include <stddef.h>

/* Those that were shown: rows of a table, or objects on standard output. */
struct daemons {
    bool json;
    struct grid *g;             // of a table
    size_t n;
};

/* Show one in the table: what it wrote, and whether it lives. */
void daemons_text (struct daemons *d, const struct json *j, bool alive);

/* Show the one that wrote this status.json, if it is one. */
void daemons_file (struct daemons *d, const char *path);

/* Show the aggregator of a root, if one has it. */
void daemons_of_root (struct daemons *d, const char *root);

#endif
