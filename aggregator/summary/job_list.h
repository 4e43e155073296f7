/* aggregator/summary/job_list.h - print the jobs of one directory
 *
 * As text and as JSON, for --list-jobs and after one of the jobs was built.
 */
#ifndef ROLLCALL_SUMMARY_JOB_LIST_H
#define ROLLCALL_SUMMARY_JOB_LIST_H

#include "jobs/jobs.h"
#include "json/json.h"

#include <stdio.h>

#define JOB_LIST_NOTE_MAX 1024  // bytes of a note, with the NUL
#define JOB_LIST_ALL (JOBS_NONE - 1)    // 'built' if all were built

/* Print all jobs and how to build each.  Returns 0 or -errno. */
int job_list_print (const struct jobs *j, int fd);

/* Print the job that was built on the first line, then the others. */
void job_list_print_built (const struct jobs *j, size_t built, FILE *f);

/* Objects at the end of the array; 'built' is an index, JOB_LIST_ALL, or
 * JOBS_NONE.
 */
void job_list_to_json (const struct jobs *j, size_t built, struct json *list);

/* Write a sentence for the result about the other jobs: "1 of 2 jobs of DIR;
 * the other: ..."; "" if there are none.
 */
void job_list_note (const struct jobs *j, size_t built, const char *dir,
                    char note[JOB_LIST_NOTE_MAX]);

#endif
