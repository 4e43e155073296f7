/* node_agent/extract/input/kineto_header.h - read the header of a trace of
 * torch.profiler
 */
#ifndef ROLLCALL_EXTRACT_INPUT_KINETO_HEADER_H
#define ROLLCALL_EXTRACT_INPUT_KINETO_HEADER_H

#include "extract/input/trace_text.h"
#include "model/capture.h"

/* A process group, as an event or the header describes it. */
struct kineto_group {
    char name[64], desc[128];
    int64_t size;               // -1: not known
    int32_t *members;           // ranks, sorted; NULL: not known
    uint32_t nmembers;
    int64_t first, stride;      // from the arguments of an event, -1: absent
    char key[CAPTURE_HASH_MAX]; // "" until it is computed
};

struct kineto_header {
    int64_t base_ns;
    int64_t rank, world_size, pg_count, schema;     // -1: absent
    char backend[CAPTURE_TEXT_MAX], nccl[CAPTURE_TEXT_MAX];
    char trace_id[CAPTURE_TEXT_MAX], device[128], host[CAPTURE_NAME_MAX];
    struct kineto_group *groups;
    uint32_t ngroups;
    bool seen;                  // there is a distributedInfo
    bool devices;               // deviceProperties has one
    bool no_memory;
    char why[160];              // the error in the header, or ""
};

void kineto_header_init (struct kineto_header *h);
void kineto_header_fini (struct kineto_header *h);

/* Take a member of the document; unknown ones are ignored. */
void kineto_header_take (struct kineto_header *h, struct span key,
                         struct span value);

/* Parse a list of ranks, "[0, 1]".  The caller frees it.  NULL: it is
 * incomplete, or no list.
 */
int32_t *kineto_ranks (struct span text, uint32_t *n);

#endif
