/* node_agent/extract/text/read_text.h - read tables from text files
 *
 * The CSV and JSON files that the analyses of the profilers export.  Each has a
 * file read_*.c.
 */
#ifndef ROLLCALL_EXTRACT_TEXT_READ_TEXT_H
#define ROLLCALL_EXTRACT_TEXT_READ_TEXT_H

#include "extract/sink/source.h"

/* Whether the capture has such a file, and its size; cheap, by name. */
bool communication_is_there (const struct source *src, uint64_t *size);
bool link_csv_is_there (const struct source *src, uint64_t *size);
bool matrix_is_there (const struct source *src, uint64_t *size);
bool memory_timeline_is_there (const struct source *src, uint64_t *size);
bool minddata_is_there (const struct source *src, uint64_t *size);

/* The readers: see struct extractor (extract/registry.h). */
void read_api_statistic (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_communication (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_kernel_details (struct source *src, unsigned want, struct verdict *v,
                          struct err *err);
void read_kernels (struct source *src, unsigned want, struct verdict *v,
                   struct err *err);
void read_link_csv (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_matrix (struct source *src, unsigned want, struct verdict *v,
                  struct err *err);
void read_memory_record (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_memory_timeline (struct source *src, unsigned want, struct verdict *v,
                           struct err *err);
void read_minddata (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_module_memory (struct source *src, unsigned want, struct verdict *v,
                         struct err *err);
void read_op_statistic (struct source *src, unsigned want, struct verdict *v,
                        struct err *err);
void read_step_csv (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);

#endif
