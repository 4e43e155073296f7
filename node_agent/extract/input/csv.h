/* node_agent/extract/input/csv.h - a CSV file of a capture, record by record
 *
 * Memory is one buffer, whatever the file's size. Records end with LF or CRLF;
 * a byte order mark is allowed; fields may be quoted, and then hold commas,
 * line ends and doubled quotes.
 *
 *     if ((how = csv_open (&c, src, dir, "x.csv", err)) != READING_WHOLE)
 *         return how;
 *     if (csv_columns (&c, columns, n, where)) {
 *         while (csv_next (&c))
 *             ... c.fields[where[0]], or csv_fail () ...
 *     }
 *     return csv_close (&c, err);
 */
#ifndef ROLLCALL_EXTRACT_INPUT_CSV_H
#define ROLLCALL_EXTRACT_INPUT_CSV_H

#include "extract/input/capture_file.h"

#define CSV_FIELDS_MAX 64       // of a record; those behind are cut
#define CSV_RECORD_MAX 262144u  // bytes of a record

struct csv_field {
    const char *s;              // without its quotes; not NUL-terminated
    size_t n;
};

struct csv_column {
    const char *name;
    bool optional;
};

struct csv {
    struct csv_field fields[CSV_FIELDS_MAX];
    int nfields;
    uint64_t line;              // where the record begins; the first is 1
    bool failed;                // the reason is in 'why'
    struct err why;
    uint64_t bad_line;          // of the first text that was not UTF-8; 0: none
    struct source *src;
    struct capture_file file;
    uint64_t next_line;
    char *buf;                  // CSV_RECORD_MAX bytes and some
    char *at, *end;             // what has been read and not yet given
    char *fixed;                // of csv_text
    bool eof;
};

/* READING_WHOLE (it is open), or as capture_file_open; READING_STOPPED without
 * memory, noted in src->stopped.
 */
enum reading csv_open (struct csv *c, struct source *src, int dir,
                       const char *name, struct err *err);

/* Close it; the verdict on reading: the caller's or the file's failure, or a
 * change meanwhile.
 */
enum reading csv_close (struct csv *c, struct err *err);

/* Read the first line: where[i] becomes the field of columns[i], or -1.  False
 * (failed) when one is missing that is not optional.
 */
bool csv_columns (struct csv *c, const struct csv_column *columns, size_t n,
                  int *where);

/* The next record that is not an empty line.  Its fields are valid until the
 * next call.  False at the end and after a failure.
 */
bool csv_next (struct csv *c);

/* Record an error of this record, and its field (.s may be NULL).  Returns
 * false.
 */
bool csv_fail (struct csv *c, const char *what, struct csv_field f);

/* For columns that where[] names: 'i' < 0 is an absent one, NULL.  False
 * (failed) for a record that ends before it, and for what is no number.
 * csv_real takes blanks and tabs off the end, and reads "" and "N/A" as NULL.
 */
bool csv_field (struct csv *c, int i, struct csv_field *ret);
bool csv_real (struct csv *c, int i, double *ret);

/* As csv_field, of at most 'max' bytes (cut behind a whole character) and as
 * UTF-8, valid until the next call: bytes that are not become U+FFFD, and the
 * file is damaged.
 */
bool csv_text (struct csv *c, int i, size_t max, struct csv_field *ret);

#endif
