/* tests/unit/common/net/keyring_check.c - a directory of keys, in a new one */
#include "common/net/keyring_check.h"

#include "store/fileio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char dir[64];
struct keyring *ring;

int keyring_setup (void **state)
{
    (void)state;
    (void)snprintf (dir, sizeof (dir), "/tmp/test_keyring.XXXXXX");
    if (!mkdtemp (dir) || chdir (dir) < 0)
        return -1;
    ring = keyring_open ("keys");
    return ring ? 0 : -1;
}

int keyring_teardown (void **state)
{
    (void)state;
    keyring_close (ring);
    return chdir ("/") == 0 ? fileio_remove_tree (dir, NULL) : -1;
}

const char *public_of (const char *path)
{
    static struct key_file k;
    struct err err = { "" };

    if (key_read (path, &k, &err) < 0)
        fail_msg ("%s", err.text);
    return k.public_key;
}

int allowed (const char *key, const char *as)
{
    char who[NET_WHO_MAX] = "";
    struct err why = { "" };
    int rc = keyring_allow (ring, key, who, &why);

    if (rc == 0)
        assert_string_equal (who, as);
    else
        assert_true (why.text[0]);
    return rc;
}
