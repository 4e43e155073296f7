/* cli/doctor_size.h - how much disk a root needs, from what one has seen */
#ifndef ROLLCALL_CLI_DOCTOR_SIZE_H
#define ROLLCALL_CLI_DOCTOR_SIZE_H

#include "shared/command.h"

#include <stdint.h>

struct doctor_size {
    const char *root;
    int64_t ranks, steps, jobs_per_day, keep_days;      // 0: not given
    bool json;
};

/* Print bytes for each rank and step of a root, and what so many jobs need: an
 * exit status after a message.
 */
int doctor_size (const struct command_spec *c, const struct doctor_size *s);

#endif
