/* aggregator/cluster_db/cluster_names.c - names in cluster_analysis.db */
#include "cluster_db/cluster_names.h"

#include "base/utf8.h"
#include "model/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HASH_SIZE 17            // "_" and 16 digits
#define NUMBER_SIZE 11          // "_" and 10 digits

static bool is_refused (char c)
{
    // bit c % 32 of word c / 32: control characters, then !"$&';<>, \`, |
    static const uint32_t bits[8] = { 0xffffffff, 0x580000d6, 0x10000000,
                                      0x90000001 };
    unsigned char u = (unsigned char)c;

    return bits[u / 32] >> u % 32 & 1;
}

bool cluster_is_clean (const char *name, size_t n, size_t max)
{
    bool refused = n > max;

    for (size_t i = 0; i < n; i++)
        refused |= is_refused (name[i]);
    return !refused;
}

void cluster_clean (const char *name, size_t n, size_t max, char *out)
{
    size_t kept;

    if (cluster_is_clean (name, n, max)) {
        memcpy (out, name, n);
        out[n] = '\0';
        return;
    }
    kept = utf8_cut (name, n, max - HASH_SIZE);
    for (size_t i = 0; i < kept; i++)
        out[i] = is_refused (name[i]) ? '_' : name[i];
    (void)snprintf (out + kept, HASH_SIZE + 1, "_%016" PRIx64,
                    texts_hash (name, n));
}

void cluster_number (const char *name, unsigned k, char out[CLUSTER_NAME_SIZE])
{
    size_t kept = utf8_cut (name, strlen (name),
                            CLUSTER_NAME_MAX - NUMBER_SIZE);

    memcpy (out, name, kept);
    (void)snprintf (out + kept, NUMBER_SIZE + 1, "_%u", k);
}

void cluster_step (const struct texts *steps, const char *step, size_t size,
                   char out[CLUSTER_NAME_SIZE])
{
    size_t n, prefix = strlen (CLUSTER_STEP);
    const char *id = steps_id (step, size, &n);

    // the step's own name may begin with it
    if (texts_find (steps, id, n) == TEXTS_NONE &&
        texts_find (steps, step, size) != TEXTS_NONE) {
        id = step;
        n = size;
    }
    memcpy (out, CLUSTER_STEP, prefix);
    cluster_clean (id, n, CLUSTER_STEP_MAX, out + prefix);
}
