/* aggregator/builder/derive_options.h - options for derived tables */
#ifndef ROLLCALL_BUILDER_DERIVE_OPTIONS_H
#define ROLLCALL_BUILDER_DERIVE_OPTIONS_H

#include "builder/topology.h"
#include "findings/findings.h"

#include <stdbool.h>
#include <stdint.h>

/* If a member or the whole is NULL: defaults, and no topology. */
struct derive_options {
    const struct findings_options *findings;
    const struct topology *topology;
    bool all_steps;             // means and findings include steps that
                                // profiling itself made longer
    int64_t one_file;           // bytes of rows of ops above which they lie
                                // in parts (builder/split.h); 0: never
};

/* The option --one-file, for a struct with this member. */
#define ONE_FILE_OPTION(type, member) \
    { "one-file", 0, OPTION_BYTES, offsetof (type, member), "SIZE", "64GiB", \
      "ROLLCALL_ONE_FILE", 0, 0, \
      "If the rows of ops take more than this, put them into parts by host, " \
      "beside analysis.db; 0: never.", NULL }

#endif
