/* node_agent/extract/text/read_text.h - read tables from text files
 *
 * The CSV and JSON files that the analyses of the profilers export.  Each has a
 * file read_*.c.
 */
#ifndef ROLLCALL_EXTRACT_TEXT_READ_TEXT_H
#define ROLLCALL_EXTRACT_TEXT_READ_TEXT_H

#include "extract/sink/source.h"

/* Whether a file may be one, by its path. */
bool is_link_csv (const char *path);
bool is_minddata (const char *path);
bool may_be_memory_timeline (const char *path);

/* The readers: see struct extractor (extract/registry.h). */
enum reading read_api_statistic (struct source *src, unsigned want,
                                 struct err *err);
enum reading read_communication (struct source *src, unsigned want,
                                 struct err *err);
enum reading read_kernel_details (struct source *src, unsigned want,
                                  struct err *err);
void read_kernels (struct source *src, unsigned want, struct verdict *v,
                   struct err *err);
enum reading read_link_csv (struct source *src, const char *path,
                            struct err *err);
enum reading read_matrix (struct source *src, unsigned want, struct err *err);
enum reading read_memory_record (struct source *src, unsigned want,
                                 struct err *err);
enum reading read_memory_timeline (struct source *src, const char *path,
                                   struct err *err);
enum reading read_minddata (struct source *src, const char *path,
                            struct err *err);
enum reading read_module_memory (struct source *src, unsigned want,
                                 struct err *err);
enum reading read_op_statistic (struct source *src, unsigned want,
                                struct err *err);
enum reading read_step_csv (struct source *src, unsigned want,
                            struct err *err);

#endif
