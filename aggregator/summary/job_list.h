/* aggregator/summary/job_list.h - print the jobs of one directory
 *
 * As text and JSON: after one of them was built, and for --list-jobs.
 */
#ifndef ROLLCALL_SUMMARY_JOB_LIST_H
#define ROLLCALL_SUMMARY_JOB_LIST_H

#include "jobs/jobs.h"
#include "json/json.h"

#include <stdio.h>

#define JOB_LIST_NOTE_MAX 1024  // bytes of a note, with the NUL
#define JOB_LIST_ALL (JOBS_NONE - 1)    // as 'built'

/* Print all of them, and how to build each.  0 or -errno. */
int job_list_print (const struct jobs *j, int fd);

/* Print the built one in the first line, then the others. */
void job_list_print_built (const struct jobs *j, size_t built, FILE *f);

/* Objects at the end of the array; 'built' is an index, JOB_LIST_ALL, or
 * JOBS_NONE.
 */
void job_list_to_json (const struct jobs *j, size_t built, struct json *list);

/* A result's text about the other jobs: "1 of 2 jobs of DIR; the other: ...";
 * "" if there are none.
 */
void job_list_note (const struct jobs *j, size_t built, const char *dir,
                    char note[JOB_LIST_NOTE_MAX]);

#endif
