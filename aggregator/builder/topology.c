/* aggregator/builder/topology.c - the switch and rack of each host */
#include "builder/topology.h"

#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_text (const char *path, char **ret, struct err *err)
{
    FILE *f = fopen (path, "re");
    char *text = malloc (TOPOLOGY_BYTES_MAX + 1);
    size_t n = f && text ? fread (text, 1, TOPOLOGY_BYTES_MAX + 1, f) : 0;
    int rc = 0;

    if (!text)
        rc = err_set (err, ENOMEM, "no memory for %s", path);
    else if (!f || ferror (f))
        rc = err_sys (err, errno, "cannot read %s", path);
    else if (n > TOPOLOGY_BYTES_MAX)
        rc = err_set (err, EFBIG, "%s has more than %u bytes", path,
                      TOPOLOGY_BYTES_MAX);
    if (f)
        (void)fclose (f);
    if (rc < 0) {
        free (text);
        return rc;
    }
    text[n] = '\0';
    *ret = text;
    return 0;
}

/* The next field, without surrounding spaces; NULL at the end. */
static char *field (char **rest)
{
    char *s = strsep (rest, ","), *end;

    if (!s)
        return NULL;
    while (isspace ((unsigned char)*s))
        s++;
    for (end = s + strlen (s); end > s && isspace ((unsigned char)end[-1]);)
        *--end = '\0';
    return s;
}

static int add_line (struct topology *t, char *line)
{
    struct topology_host h = { .host = field (&line), .sw = field (&line),
                               .rack = field (&line) };
    struct topology_host *p;

    if (!*h.host && !h.sw)
        return 0;
    if (*h.host == '#')
        return 0;
    if (!*h.host || !h.sw || !*h.sw || line)
        return -EINVAL;
    if (h.rack && !*h.rack)
        h.rack = NULL;
    if (!(p = vec_one_more (t->hosts, t->n, sizeof (*p))))
        return -ENOMEM;
    t->hosts = p;
    t->hosts[t->n++] = h;
    return 0;
}

static int topology_compare (const void *a, const void *b)
{
    return strcmp (((const struct topology_host *)a)->host,
                   ((const struct topology_host *)b)->host);
}

static int check_twice (struct topology *t, const char *path, struct err *err)
{
    if (t->n > 1)
        qsort (t->hosts, t->n, sizeof (*t->hosts), topology_compare);
    for (size_t i = 1; i < t->n; i++) {
        if (topology_compare (&t->hosts[i - 1], &t->hosts[i]) == 0)
            return err_set (err, EINVAL, "%s names the host %s twice", path,
                            t->hosts[i].host);
    }
    return 0;
}

int topology_read (const char *path, struct topology *ret, struct err *err)
{
    char *rest, *line;
    size_t number = 0;
    int rc;

    memset (ret, 0, sizeof (*ret));
    if ((rc = read_text (path, &ret->text, err)) < 0)
        return rc;
    rest = ret->text;
    while (rc == 0 && (line = strsep (&rest, "\n"))) {
        number++;
        rc = add_line (ret, line);
        if (rc == -EINVAL)
            rc = err_set (err, EINVAL, "%s: line %zu is not "
                          "host,switch[,rack]", path, number);
        else if (rc < 0)
            rc = err_set (err, ENOMEM, "no memory for %s", path);
    }
    if (rc == 0)
        rc = check_twice (ret, path, err);
    if (rc < 0)
        topology_fini (ret);
    return rc;
}

void topology_fini (struct topology *t)
{
    free (t->text);
    free (t->hosts);
    memset (t, 0, sizeof (*t));
}
