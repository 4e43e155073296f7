/* common/base/vec.c - lists that grow by one element at a time */
#include "base/vec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *vec_one_more (void *list, size_t n, size_t size)
{
    if ((n & (n - 1)) != 0)     // there is room up to the next power of two
        return list;
    if (n > SIZE_MAX / 2 / size)
        return NULL;
    return realloc (list, (n ? 2 * n : 1) * size);
}

void *vec_insert (void *list, size_t *n, size_t at, size_t size)
{
    void *all;
    char *added;

    memcpy (&all, list, sizeof (all));
    if (!(all = vec_one_more (all, *n, size)))
        return NULL;
    memcpy (list, &all, sizeof (all));
    added = (char *)all + at * size;
    memmove (added + size, added, ((*n)++ - at) * size);
    return memset (added, 0, size);
}

void *vec_add (void *list, size_t *n, size_t size)
{
    return vec_insert (list, n, *n, size);
}

void *vec_next (void *list, size_t n, size_t size)
{
    return vec_insert (list, &n, n, size);
}

int vec_push (void *list, size_t *n, const void *thing, size_t size)
{
    void *added = vec_add (list, n, size);

    if (!added)
        return -ENOMEM;
    memcpy (added, thing, size);
    return 0;
}

/* Add a text, or free it. */
static int take_text (char ***list, size_t *n, char *text)
{
    if (text && vec_push (list, n, &text, sizeof (text)) == 0)
        return 0;
    free (text);
    return -ENOMEM;
}

int vec_add_text (char ***list, size_t *n, const char *text)
{
    return take_text (list, n, strdup (text));
}

int vec_print_text (char ***list, size_t *n, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start (ap, fmt);
    if (vasprintf (&text, fmt, ap) < 0)
        text = NULL;
    va_end (ap);
    return take_text (list, n, text);
}

void vec_free_texts (char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (list[i]);
    free (list);
}
