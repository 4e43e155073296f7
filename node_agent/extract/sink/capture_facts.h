/* node_agent/extract/sink/capture_facts.h - collect facts from several files of
 * a capture
 *
 * CaptureInfo, MemoryPeak and OtherFile have many sources that do not replace
 * each other.  Their rows are collected here, limited in number and without
 * duplicates, and sent when all files have been read.
 */
#ifndef ROLLCALL_EXTRACT_SINK_CAPTURE_FACTS_H
#define ROLLCALL_EXTRACT_SINK_CAPTURE_FACTS_H

#include "extract/sink/source.h"

#define CAPTURE_FACTS_INFO_MAX 1024u    // rows of CaptureInfo
#define CAPTURE_FACTS_PEAKS_MAX 1024u   // rows of MemoryPeak
#define CAPTURE_FACTS_FILES_MAX 256u    // rows of OtherFile
#define CAPTURE_FACTS_NAME_MAX 256u     // bytes of a name
#define CAPTURE_FACTS_VALUE_MAX 2048u   // bytes of a value

/* The tables that are collected: a set of 1 << table_id. */
#define CAPTURE_FACTS_TABLES \
    (1u << TABLE_INFO | 1u << TABLE_MEMORY | 1u << TABLE_FILE)

#define CAPTURE_FACTS_NOT_SHOWN "(not shown)"

/* Create a collection; NULL: no memory.  If a source has none, the following
 * functions have no effect.
 */
struct capture_facts *capture_facts_new (void);
void capture_facts_free (struct capture_facts *x);

/* Add a row of CaptureInfo; the first value of a (kind, name) counts.  Texts
 * are UTF-8; a longer one is cut and ends in "...".  A value that may be a
 * secret (model/secret.h) is not stored.  'value' may be NULL.
 */
void capture_facts_info (struct source *src, const char *kind, const char *name,
                         size_t name_size, const char *value,
                         size_t value_size);

/* Add a value of MemoryPeak.  The largest one counts, with the first time at
 * which it was reached.  'device' and 'at' (us since 1970) may be NaN.  A
 * 'peak' (MiB) that is NaN or not above 0 has no effect.  'component' is UTF-8.
 */
void capture_facts_peak (struct source *src, double device,
                         const char *component,
                         size_t component_size, const char *kind, double peak,
                         double at);

/* Add a file of the capture, or a directory that stands for all of its files
 * ("raw/").  'path' is relative to the capture, and may have any bytes.
 */
void capture_facts_file (struct source *src, const char *path, uint64_t bytes);

/* Whether one of the recorded files is known by its path. */
bool capture_facts_has_file (const struct source *src,
                             bool (*is_one) (const char *path));

/* Read each of them, until one stops it.  A file that is read is removed from
 * OtherFile; of others 'read' says READING_ABSENT.  The verdict on all files:
 * the first damage counts, with its reason in 'err'.
 */
enum reading capture_facts_read_files (struct source *src,
                                       bool (*is_one) (const char *path),
                                       enum reading (*read) (
                                           struct source *src,
                                           const char *path, struct err *err),
                                       struct err *err);

/* Send the rows to the sink.  False: see src->stopped. */
bool capture_facts_send (struct source *src, struct err *err);

#endif
