/* common/model/job_origin.c - what a launch knows of its job beside ranks */
#include "model/job_origin.h"

#include "base/utf8.h"
#include "json/json.h"
#include "model/secret.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define JOB_ORIGIN_FILE_MAX (256u << 10)        // bytes: long command lines
#define NOT_SHOWN "(not shown)"

int job_origin_write (const char *dir, const char *scheduler_id,
                      const char *user,
                      char *const command[], struct err *err)
{
    struct json *j = json_object (), *list = json_add_array (j, "command");

    json_add_text (j, "scheduler_id", scheduler_id);
    json_add_text (j, "user", user);
    for (size_t i = 0; command[i]; i++)
        json_push_text (list, command[i]);
    return json_replace (j, false, dir, JOB_ORIGIN_NAME, 0600, err);
}

/* Add a word; what does not fit is cut behind a whole character. */
static void add_word (char *out, size_t max, const char *word, size_t n)
{
    size_t used = strlen (out);

    if (used > 0 && used + 1 < max)
        out[used++] = ' ';
    n = utf8_cut (word, n, max - 1 - used);
    memcpy (out + used, word, n);
    out[used + n] = '\0';
}

static void take_command (const struct json *list, struct job_origin *ret)
{
    bool hide = false;          // the value of the option before

    for (const struct json *j = json_first (list); j; j = json_next (j)) {
        const char *word = json_text (j, "");
        size_t name = strcspn (word, "="), size = strlen (word);
        bool secret = secret_name (word, name);

        if ((hide && word[0] != '-') ||
            (!(secret && name < size) && secret_value (word, size))) {
            add_word (ret->command, sizeof (ret->command), NOT_SHOWN,
                      strlen (NOT_SHOWN));
            hide = false;
            continue;
        }
        if (secret && name < size) {
            add_word (ret->command, sizeof (ret->command), word, name + 1);
            add_word (ret->command, sizeof (ret->command), NOT_SHOWN,
                      strlen (NOT_SHOWN));
        } else {
            add_word (ret->command, sizeof (ret->command), word, size);
        }
        hide = secret && name == size && word[0] == '-';
    }
}

int job_origin_take (const char *dir, struct job_origin *ret)
{
    int fd = open (dir, O_PATH | O_DIRECTORY | O_CLOEXEC), rc;
    struct json *j = NULL;
    struct buf b;

    memset (ret, 0, sizeof (*ret));
    if (fd < 0)
        return -errno;
    buf_init (&b, JOB_ORIGIN_FILE_MAX);
    rc = fileio_read_at (fd, JOB_ORIGIN_NAME, &b, NULL);
    if (rc == 0)
        (void)unlinkat (fd, JOB_ORIGIN_NAME, 0);
    (void)close (fd);
    if (rc == 0 && !(j = json_parse (buf_text (&b), b.size, NULL)))
        rc = -EBADMSG;
    if (rc == 0) {
        PRINT (ret->scheduler_id, "%s",
               json_text (json_get (j, "scheduler_id"), ""));
        PRINT (ret->user, "%s", json_text (json_get (j, "user"), ""));
        take_command (json_get (j, "command"), ret);
    }
    json_free (j);
    buf_fini (&b);
    return rc;
}
