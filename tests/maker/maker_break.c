// Damages the finished files of a capture in the ways --break names.

#include "maker.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NESTING 100000
#define FILL_BLOCK (1 << 20)
#define PAGE_BYTES 4096 // SQLite's default, which maker_db.c keeps
#define BAD_BYTE 0xa5   // no type of SQLite page
#define ELAPSE_LABEL "\"Elapse Time(ms)\": "
#define NAME_LABEL "hcom_"
#define KEPT_TENTHS 6 // of a truncated JSON file
#define ODD_BYTES 100 // a truncated database ends inside a page
#define GARBAGE "]}x\n"

#define JOURNAL_MAGIC 0xd9d505f920a163d7u
#define JOURNAL_SECTOR 512
#define JOURNAL_HEADER 28 // bytes before the padding
#define JOURNAL_NONCE 0x1234567u
#define CHECK_STEP 200 // SQLite sums up every 200th byte
#define SAVED_PAGE 1

static char *read_file (const char *path, size_t *size)
{
    FILE *f = fopen (path, "r");
    struct stat st;
    if (f == NULL || fstat (fileno (f), &st) != 0)
        die (path);
    *size = (size_t)st.st_size;
    char *text = make_room (*size + 1, 1);
    if (fread (text, 1, *size, f) != *size)
        die (path);
    fclose (f);
    return text;
}

static void put_many (FILE *f, char c, int64_t count)
{
    static char block[FILL_BLOCK];
    memset (block, c, sizeof block);
    for (; count > 0; count -= FILL_BLOCK) {
        size_t part = count < FILL_BLOCK ? (size_t)count : FILL_BLOCK;
        fwrite (block, 1, part, f);
    }
}

// What stands in the place of a good value; true for what is added only,
// false for what replaces a number.
static bool put_damage (FILE *f, unsigned flag, int64_t huge_bytes)
{
    switch (flag) {
    case B_WRONG_TYPE:
        fputs ("\"12.5\"", f);
        return false;
    case B_OVERFLOW_NUMBER:
        fputs ("1e999", f);
        return false;
    case B_DEEP_NESTING:
        put_many (f, '[', NESTING);
        put_many (f, ']', NESTING);
        return false;
    case B_HUGE_STRING:
        put_many (f, 'a', huge_bytes);
        return true;
    default: // B_BAD_UTF8
        putc (0xff, f);
        return true;
    }
}

// Writes the file anew with the damage behind the first place where the
// label stands.
static void splice (const char *path, unsigned flag, int64_t huge_bytes)
{
    bool in_name = flag == B_HUGE_STRING || flag == B_BAD_UTF8;
    const char *label = in_name ? NAME_LABEL : ELAPSE_LABEL;
    size_t size;
    char *text = read_file (path, &size);
    char *place = strstr (text, label);
    if (place == NULL)
        die_text (path, "nothing to break in it");
    size_t head = (size_t)(place - text) + strlen (label);
    FILE *f = create_file (path);
    fwrite (text, 1, head, f);
    if (!put_damage (f, flag, huge_bytes))
        head += strcspn (text + head, ",}");
    fwrite (text + head, 1, size - head, f);
    close_file (f, path);
    free (text);
}

static int64_t file_size (const char *path)
{
    struct stat st;
    if (stat (path, &st) != 0)
        die (path);
    return st.st_size;
}

static void shorten (const char *path, int64_t size)
{
    if (truncate (path, size) != 0)
        die (path);
}

static void append (const char *path, const char *text)
{
    FILE *f = fopen (path, "a");
    if (f == NULL)
        die (path);
    fputs (text, f);
    close_file (f, path);
}

static void drop (const char *path)
{
    if (unlink (path) != 0)
        die (path);
}

// Spoils all pages from the second one to three quarters of the file: the
// header is good, the tables are not.
static void corrupt (const char *path)
{
    int64_t pages = file_size (path) / PAGE_BYTES;
    int64_t end = pages * 3 / 4 + 1;
    FILE *f = fopen (path, "r+");
    if (f == NULL || fseek (f, PAGE_BYTES, SEEK_SET) != 0)
        die (path);
    put_many (f, (char)BAD_BYTE, (end - 1) * PAGE_BYTES);
    close_file (f, path);
}

static void alter (const char *path, const char *sql)
{
    sqlite3 *db;
    if (sqlite3_open (path, &db) != SQLITE_OK ||
        sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die_text (path, sqlite3_errmsg (db));
    sqlite3_close (db);
}

static void put_big_endian (FILE *f, uint32_t x)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        putc ((int)(x >> shift & 0xff), f);
}

// A journal as a writer killed in its transaction leaves it: one record with
// the old content of a page (which is also the present one).
static void leave_journal (const char *db_path)
{
    char path[MAX_PATH];
    size_t size;
    unsigned char *db = (unsigned char *)read_file (db_path, &size);
    const unsigned char *page = db + (SAVED_PAGE - 1) * PAGE_BYTES;
    uint32_t check = JOURNAL_NONCE;
    for (int i = PAGE_BYTES - CHECK_STEP; i > 0; i -= CHECK_STEP)
        check += page[i];
    int used = snprintf (path, sizeof path, "%s-journal", db_path);
    if (used < 0 || (size_t)used >= sizeof path)
        die_text (db_path, "path too long");
    FILE *f = create_file (path);
    put_big_endian (f, (uint32_t)(JOURNAL_MAGIC >> 32));
    put_big_endian (f, (uint32_t)JOURNAL_MAGIC);
    put_big_endian (f, 1); // records
    put_big_endian (f, JOURNAL_NONCE);
    put_big_endian (f, (uint32_t)(size / PAGE_BYTES));
    put_big_endian (f, JOURNAL_SECTOR);
    put_big_endian (f, PAGE_BYTES);
    put_many (f, 0, JOURNAL_SECTOR - JOURNAL_HEADER);
    put_big_endian (f, SAVED_PAGE);
    fwrite (page, 1, PAGE_BYTES, f);
    put_big_endian (f, check);
    close_file (f, path);
    free (db);
}

static void make_symlink (const char *output, const char *path)
{
    char moved[MAX_PATH];
    join_path (moved, output, "../communication.moved.json");
    if (rename (path, moved) != 0)
        die (path);
    if (symlink ("../communication.moved.json", path) != 0)
        die (path);
}

static void break_json (const char *output, const struct capture *c,
                        unsigned flags)
{
    static const unsigned splices[] = {B_WRONG_TYPE, B_OVERFLOW_NUMBER,
                                       B_DEEP_NESTING, B_BAD_UTF8,
                                       B_HUGE_STRING};
    char path[MAX_PATH];
    join_path (path, output, "communication.json");
    for (size_t i = 0; i < sizeof splices / sizeof splices[0]; i++) {
        if (flags & splices[i])
            splice (path, splices[i], c->job->opt->huge_bytes);
    }
    if (flags & B_TRAILING_GARBAGE)
        append (path, GARBAGE);
    if (flags & B_TRUNCATED_JSON)
        shorten (path, file_size (path) * KEPT_TENTHS / 10);
    if (flags & B_EMPTY_FILE)
        shorten (path, 0);
    if (flags & B_SYMLINK)
        make_symlink (output, path);
    if (flags & B_MISSING_FILE) {
        join_path (path, output, "communication_matrix.json");
        drop (path);
    }
}

static void break_db (const char *output, const struct capture *c,
                      unsigned flags)
{
    bool comm = has_communication (c->job->opt);
    char path[MAX_PATH];
    join_path (path, output, "analysis.db");
    if (flags & B_DB_MISSING_COLUMN)
        alter (path, comm ? "ALTER TABLE CommAnalyzerTime DROP COLUMN wait_time"
                          : "ALTER TABLE StepTraceTime DROP COLUMN free");
    if (flags & B_DB_EXTRA_COLUMN)
        alter (path,
               comm ? "ALTER TABLE CommAnalyzerTime ADD COLUMN waitNs INTEGER;"
                      "ALTER TABLE StepTraceTime ADD COLUMN note TEXT"
                    : "ALTER TABLE StepTraceTime ADD COLUMN note TEXT");
    if (flags & B_DB_MISSING_TABLE)
        alter (path, comm ? "DROP TABLE CommAnalyzerMatrix"
                          : "DROP TABLE StepTraceTime");
    if (flags & B_HOT_JOURNAL)
        leave_journal (path);
    if (flags & B_CORRUPT_DB)
        corrupt (path);
    if (flags & B_TRUNCATED_DB)
        shorten (path, file_size (path) / 2 + ODD_BYTES);
}

void break_files (const char *output, const struct capture *c, unsigned flags)
{
    const struct options *opt = c->job->opt;
    char path[MAX_PATH];
    if (opt->form & FORM_TEXT) {
        if (has_communication (opt))
            break_json (output, c, flags);
        if (flags & B_MISSING_CSV) {
            join_path (path, output, "step_trace_time.csv");
            drop (path);
        }
    }
    if (opt->form & FORM_DB)
        break_db (output, c, flags);
}
