/* node_agent/extract/input/kineto_header.h - the header of a trace */
#ifndef ROLLCALL_EXTRACT_INPUT_KINETO_HEADER_H
#define ROLLCALL_EXTRACT_INPUT_KINETO_HEADER_H

#include "extract/input/trace_text.h"
#include "model/capture.h"

/* A group that an event or the header names. */
struct kineto_group {
    char name[64], desc[128];
    int64_t size;               // -1: not known
    int32_t *members;           // sorted, NULL: not known
    uint32_t nmembers;
    int64_t first, stride;      // as the arguments say, -1: they do not
    char key[CAPTURE_HASH_MAX]; // "" until it is worked out
};

struct kineto_header {
    int64_t base_ns;
    int64_t rank, world_size, pg_count, schema;     // -1: not said
    char backend[CAPTURE_TEXT_MAX], nccl[CAPTURE_TEXT_MAX];
    char trace_id[CAPTURE_TEXT_MAX], device[128], host[CAPTURE_NAME_MAX];
    struct kineto_group *groups;
    uint32_t ngroups;
    bool seen;                  // distributedInfo was there
    bool devices;               // deviceProperties names one
    bool no_memory;
    char why[160];              // what is wrong with it, or ""
};

void kineto_header_init (struct kineto_header *h);
void kineto_header_fini (struct kineto_header *h);

/* Take a member of the document; others than those above are passed over. */
void kineto_header_take (struct kineto_header *h, struct span key,
                         struct span value);

/* A list of ranks as text, "[0, 1]"; NULL if it is cut, or no list. */
int32_t *kineto_ranks (struct span text, uint32_t *n);

#endif
