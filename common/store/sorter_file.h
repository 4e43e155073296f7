/* common/store/sorter_file.h - sorted records in a file
 *
 * Private to the sorter.  Consecutive records are similar, so each word is
 * written as the difference from that of the record before, which takes a fifth
 * of the bytes.  All functions return 0 or a negative errno.
 */
#ifndef ROLLCALL_STORE_SORTER_FILE_H
#define ROLLCALL_STORE_SORTER_FILE_H

#include "store/sorter.h"

/* A sorted run of records in the file. */
struct sorter_run {
    int64_t first, bytes;       // offset and size in the file
    int64_t count;              // number of records
    unsigned level;
    int64_t last[SORTER_WORDS_MAX];     // the last record; 0 before the first
};

struct sorter_file {
    unsigned words;             // of a record
    int fd;                     // -1 until it is opened
    int64_t bytes;
    uint8_t *out;
};

/* A run that is read.  It begins as zeros but for 'at', 'left' and 'count'. */
struct sorter_reader {
    int64_t at, left;           // offset and bytes left in the file
    int64_t count;              // records left
    size_t have, next;          // bytes in 'buf'
    uint8_t *buf;
    int64_t record[SORTER_WORDS_MAX];
};

/* Open an unnamed file in $TMPDIR. */
int sorter_file_open (struct sorter_file *f);
void sorter_file_close (struct sorter_file *f);

/* Append n records to the run, which is the last one of the file. */
int sorter_file_write (struct sorter_file *f, struct sorter_run *run,
                       const int64_t *records, size_t n);

/* Read the next record into r->record: 1; 0 after the last one. */
int sorter_file_read (const struct sorter_file *f, struct sorter_reader *r);
void sorter_reader_fini (struct sorter_reader *r);

#endif
