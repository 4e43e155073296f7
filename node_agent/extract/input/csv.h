/* node_agent/extract/input/csv.h - read a CSV file of a capture by records
 *
 * Memory is one buffer, whatever the size of the file.  Records end with LF or
 * CRLF; a byte order mark is allowed; fields may be quoted, and then contain
 * commas, line ends and doubled quotes.
 *
 *   if ((how = csv_open (&c, src, dir, "x.csv", err)) != READING_WHOLE)
 *       return how;
 *   if (csv_columns (&c, columns, n, where)) {
 *       while (csv_next (&c))
 *           ... c.fields[where[0]], or csv_fail () ...
 *   }
 *   return csv_close (&c, err);
 */
#ifndef ROLLCALL_EXTRACT_INPUT_CSV_H
#define ROLLCALL_EXTRACT_INPUT_CSV_H

#include "extract/input/capture_file.h"

#define CSV_FIELDS_MAX 64       // of a record; further ones are dropped
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
    uint64_t line;              // line at which the record begins, from 1
    bool failed;                // the reason is in 'why'
    struct err why;
    uint64_t bad_line;          // of the first text that was not UTF-8; 0: none
    struct source *src;
    struct capture_file file;
    uint64_t next_line;
    char *buf;                  // a little more than CSV_RECORD_MAX bytes
    char *at, *end;             // bytes that were read but not returned yet
    char *fixed;                // buffer of csv_text
    bool eof;
};

/* Open a file.  READING_WHOLE: it is open, and csv_close closes it;
 * READING_STOPPED: no memory, src->stopped is set; otherwise as
 * capture_file_open.
 */
enum reading csv_open (struct csv *c, struct source *src, int dir,
                       const char *name, struct err *err);

/* Close it and return the verdict: a failure of the caller or of the file, or a
 * change of the file meanwhile.
 */
enum reading csv_close (struct csv *c, struct err *err);

/* Read the first line: where[i] becomes the index of the field of columns[i],
 * or -1.  False (failed): a column that is not optional is missing.
 */
bool csv_columns (struct csv *c, const struct csv_column *columns, size_t n,
                  int *where);

/* Read the next record, skipping empty lines.  Its fields are valid until the
 * next call.  False at the end and after a failure.
 */
bool csv_next (struct csv *c);

/* Fail, with an error of this record and its field (.s may be NULL).  Returns
 * false.
 */
bool csv_fail (struct csv *c, const char *what, struct csv_field f);

/* Get the field with index 'i' of where[]; a negative 'i' is an absent column,
 * which is NULL.  False (failed): the record is too short, or the field is no
 * number.  csv_real ignores trailing blanks and tabs, and reads "" and "N/A" as
 * NULL (NaN).
 */
bool csv_field (struct csv *c, int i, struct csv_field *ret);
bool csv_real (struct csv *c, int i, double *ret);

/* As csv_field, cut to at most 'max' bytes at a character, as valid UTF-8 until
 * the next call.  Invalid bytes become U+FFFD, and the file is damaged.
 */
bool csv_text (struct csv *c, int i, size_t max, struct csv_field *ret);

#endif
