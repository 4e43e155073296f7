/* common/model/owned_text.c - texts that are usually empty */
#include "model/owned_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char empty[1];

void owned_text_init (char **text)
{
    *text = empty;
}

void owned_text_fini (char **text)
{
    if (*text != empty)
        free (*text);
    *text = empty;
}

int owned_text_set (char **text, const char *s, size_t n)
{
    char *copy = n > 0 ? strndup (s, n) : empty;

    if (!copy)
        return -ENOMEM;
    owned_text_fini (text);
    *text = copy;
    return 0;
}
