/* cli/jobs/jobs_table.c - the table of rollcall jobs */
#include "jobs/jobs_table.h"

#include "shared/unbuilt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WIDE_TABLE 120
#define TAGS_TAKE 8             // of the width, as others need it, too

bool jobs_table_is_narrow (size_t width)
{
    return width > 0 && width < WIDE_TABLE;
}

void jobs_table_time (struct grid *g, const char *time, bool narrow)
{
    char brief[32];

    if (narrow && strlen (time) > 16) {
        PRINT (brief, "%.5s %.5s", time + 5, time + 11);
        time = brief;
    }
    grid_word (g, time);
}

/* Each with the least width of a terminal that has room for it. */
static const struct {
    const char *name;
    size_t least;
} columns[JOBS_COLUMNS] = {
    [COLUMN_JOB] = { "job", 0 }, [COLUMN_RANKS] = { "ranks", 0 },
    [COLUMN_EXPECTED] = { "expected", 72 },
    [COLUMN_CAPTURES] = { "captures", 80 }, [COLUMN_BYTES] = { "bytes", 72 },
    [COLUMN_USER] = { "user", 64 }, [COLUMN_TAGS] = { "tags", 0 },
    [COLUMN_FIRST] = { "first", 100 }, [COLUMN_LAST] = { "last", 0 },
    [COLUMN_ID] = { "id", 72 }, [COLUMN_RESULT] = { "result", 0 },
    [COLUMN_AT] = { "at", 0 },
};

static void word_or_null (struct grid *g, const char *text)
{
    grid_word (g, *text ? text : NULL);
}

static void cell (struct grid *g, const struct catalogue_job *j,
                  enum jobs_column column, bool narrow, const char *at)
{
    char roll[CATALOGUE_ROLL_MAX], result[CATALOGUE_ROLL_MAX + 16];

    switch (column) {
    case COLUMN_JOB:
        grid_word (g, j->job);
        break;
    case COLUMN_RANKS:
        grid_int (g, j->ranks);
        break;
    case COLUMN_EXPECTED:
        if (j->expected > 0)
            grid_int (g, j->expected);
        else
            grid_null (g);      // nobody has said
        break;
    case COLUMN_CAPTURES:
        grid_int (g, j->captures);
        break;
    case COLUMN_BYTES:
        grid_int (g, j->bytes);
        break;
    case COLUMN_USER:
        word_or_null (g, j->user);
        break;
    case COLUMN_TAGS:
        word_or_null (g, j->tags);
        break;
    case COLUMN_FIRST:
        jobs_table_time (g, j->first_received, narrow);
        break;
    case COLUMN_LAST:
        jobs_table_time (g, j->last_received, narrow);
        break;
    case COLUMN_ID:
        grid_word (g, j->id);
        break;
    case COLUMN_RESULT:
        catalogue_roll (j, roll);
        PRINT (result, "%s%s%s", j->result, *roll ? ": " : "", roll);
        grid_word (g, result);
        break;
    case COLUMN_AT:
        grid_word (g, at);
        break;
    }
}

void jobs_table_row (struct jobs_table *t, const struct catalogue_job *j,
                     const char *at, const struct json *unbuilt)
{
    char text[UNBUILT_TEXT_MAX];

    for (unsigned i = 0; i < t->ncolumns; i++)
        cell (t->g, j, t->columns[i], t->narrow, at);
    if (unbuilt)
        grid_line (t->g, unbuilt_text (unbuilt, text));
}

int jobs_table_begin (struct jobs_table *t, size_t width, bool users,
                      bool tags, bool at)
{
    const size_t room = tags && width > TAGS_TAKE ? width - TAGS_TAKE : width;
    const char *names[JOBS_COLUMNS];

    *t = (struct jobs_table){ .g = grid_create (stdout, GRID_TABLE, width),
                              .narrow = jobs_table_is_narrow (width) };
    if (!t->g)
        return -ENOMEM;
    for (unsigned i = 0; i < JOBS_COLUMNS; i++) {
        if ((room > 0 && room < columns[i].least) ||
            (i == COLUMN_USER && !users) || (i == COLUMN_TAGS && !tags) ||
            (i == COLUMN_AT && !at))
            continue;
        names[t->ncolumns] = columns[i].name;
        t->columns[t->ncolumns++] = i;
    }
    grid_head (t->g, names, t->ncolumns);
    for (unsigned i = 0; i < t->ncolumns; i++) {
        if (t->columns[i] == COLUMN_JOB || t->columns[i] == COLUMN_FIRST ||
            t->columns[i] == COLUMN_LAST)
            grid_keep_whole (t->g, i);
    }
    return 0;
}
