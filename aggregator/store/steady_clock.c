/* aggregator/store/steady_clock.c - whether this host's wall clock can be
 * believed
 */
#include "store/steady_clock.h"

#include "base/buf.h"
#include "base/clock.h"
#include "json/json.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#define FILE_MAX 4096           // bytes

/* A damaged note is as none. */
static void load (struct steady_clock *c, const char *root)
{
    int64_t seen_s = 0, jumped_s = 0;
    struct json *j = NULL;
    char path[PATH_MAX];
    struct buf text;

    if (!fileio_join (path, sizeof (path), root, STEADY_CLOCK_NAME))
        return;
    buf_init (&text, FILE_MAX);
    if (fileio_read_at (AT_FDCWD, path, &text, NULL) == 0)
        j = json_parse ((const char *)text.data, text.size, NULL);
    if (json_int (json_get (j, "seen_s"), &seen_s) &&
        json_int (json_get (j, "jumped_s"), &jumped_s) && seen_s > 0 &&
        seen_s < INT64_MAX / NS_PER_S && jumped_s >= 0 &&
        jumped_s < INT64_MAX / NS_PER_S)
        *c = (struct steady_clock){ .wall_ns = seen_s * NS_PER_S,
                                    .jumped_ns = jumped_s * NS_PER_S };
    json_free (j);
    buf_fini (&text);
}

/* On a full disk retention is what makes room: without a note, too. */
static void save (const struct steady_clock *c, const char *root)
{
    struct json *j = json_object ();

    json_add_int (j, "seen_s", c->wall_ns / NS_PER_S);
    json_add_int (j, "jumped_s", c->jumped_ns / NS_PER_S);
    (void)json_replace (j, false, root, STEADY_CLOCK_NAME, FILEIO_FILE_MODE,
                        NULL);
}

int steady_clock_look (struct steady_clock *c, const char *root,
                       int64_t wall_ns, int64_t mono_ns, struct err *err)
{
    bool first = c->mono_ns == 0;
    int64_t ahead_ns, jumped_ns;
    char text[CLOCK_TEXT_MAX];

    if (first)
        load (c, root);
    ahead_ns = c->wall_ns == 0 ? 0 : wall_ns - c->wall_ns;
    if (c->mono_ns > 0)
        ahead_ns -= mono_ns - c->mono_ns;
    // what is off every other day would wait for ever: it waits while it is on
    if (first && c->jumped_ns > 0 &&
        ahead_ns > STEADY_CLOCK_JUMP_S * NS_PER_S &&
        ahead_ns < STEADY_CLOCK_OFF_S * NS_PER_S) {
        c->jumped_ns += ahead_ns;
        ahead_ns = 0;
    }
    if (llabs (ahead_ns) > STEADY_CLOCK_JUMP_S * NS_PER_S)
        c->jumped_ns = wall_ns;
    else if (wall_ns - c->jumped_ns >= STEADY_CLOCK_WAIT_S * NS_PER_S)
        c->jumped_ns = 0;
    jumped_ns = c->jumped_ns;
    c->wall_ns = wall_ns;
    c->mono_ns = mono_ns;
    save (c, root);
    if (jumped_ns == 0)
        return 0;
    clock_text (jumped_ns + STEADY_CLOCK_WAIT_S * NS_PER_S, text);
    return err_set (err, EAGAIN, "nothing is removed by its age until %s: this "
                    "host's clock jumped by more than a day, or nobody served this root "
                    "for a day; set the clock if it is wrong", text);
}
