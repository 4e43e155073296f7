/* tests/unit/common/net/test_keyring_change.c - keys are enrolled, and replaced */
#include "common/net/keyring_check.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char told_of[256];

static int note_name (void *arg, const struct keyring_entry *e, struct err *err)
{
    size_t used = strlen (told_of);

    (void)arg;
    (void)err;
    (void)snprintf (told_of + used, sizeof (told_of) - used, "%s ",
                    e->file.name);
    return 0;
}

/* A directory of keys, as one was gathered from nodes. */
static void test_enrol_all (void **state)
{
    struct err err = { "" };
    char first[NET_KEY_SIZE];

    (void)state;
    told_of[0] = '\0';
    assert_int_equal (keyring_new ("nodes", "b", NULL), 0);
    assert_int_equal (keyring_new ("nodes", "a", NULL), 0);
    assert_int_equal (keyring_new ("nodes", KEYRING_SERVER, NULL), 0);
    assert_int_equal (keyring_enrol_all ("keys", "nodes", -1, NULL, note_name, NULL,
                                         &err), 2);
    assert_string_equal (told_of, "a b ");
    assert_int_equal (allowed (public_of ("nodes/b.pub"), "b"), 0);
    assert_int_equal (allowed (public_of ("nodes/server.pub"), ""), -ENOKEY);
    // the same again; then one that is there with another name, one file twice
    assert_int_equal (keyring_enrol_all ("keys", "nodes", -1, NULL, note_name, NULL,
                                         &err), 2);
    memcpy (first, public_of ("nodes/b.pub"), NET_KEY_SIZE);
    assert_int_equal (rename ("nodes/b.pub", "nodes/c.pub"), 0);
    assert_int_equal (keyring_enrol_all ("keys", "nodes", -1, NULL, note_name, NULL,
                                         &err), -EEXIST);
    assert_non_null (strstr (err.text, "nodes/c.pub: this key is enrolled as b"));
    assert_int_equal (keyring_enrol_all ("new", "nodes", -1, NULL, note_name, NULL,
                                         &err), 2);
    assert_int_equal (link ("nodes/c.pub", "nodes/d.pub"), 0);
    assert_int_equal (keyring_enrol_all ("new", "nodes", -1, NULL, note_name, NULL,
                                         &err), -EEXIST);
    assert_non_null (strstr (err.text, "d.pub: another file has this key"));
    assert_int_equal (keyring_revoke ("keys", "b", NULL), 0);
    assert_int_equal (keyring_enrol_all ("keys", "nodes", -1, NULL, note_name, NULL,
                                         &err), -EKEYREVOKED);
    assert_int_equal (allowed (first, ""), -EKEYREVOKED);
    assert_int_equal (keyring_enrol_all ("keys", "nowhere", -1, NULL, note_name,
                                         NULL, &err), -ENOENT);
}

static void test_rotate (void **state)
{
    char old[NET_KEY_SIZE];

    (void)state;
    assert_int_equal (keyring_new ("keys", "n", NULL), 0);
    memcpy (old, public_of ("keys/n.pub"), NET_KEY_SIZE);
    assert_int_equal (keyring_enrol ("keys", "n", old, -1, NULL, NULL), 0);
    assert_int_equal (keyring_rotate ("keys", "n", 3600, NULL), 0);
    assert_string_not_equal (public_of ("keys/n.pub"), old);
    assert_string_equal (public_of ("keys/n.key"), public_of ("keys/n.pub"));
    assert_int_equal (allowed (public_of ("keys/n.pub"), "n"), 0);
    assert_int_equal (allowed (old, "n"), 0);
    // without any grace it is over at once
    memcpy (old, public_of ("keys/n.pub"), NET_KEY_SIZE);
    assert_int_equal (keyring_rotate ("keys", "n", 0, NULL), 0);
    assert_int_equal (allowed (old, ""), -EKEYEXPIRED);
    assert_int_equal (keyring_rotate ("keys", "absent", 0, NULL), -ENOENT);
}

/* Agents that are at work while an aggregator's key is replaced know both. */
static void test_rotate_server (void **state)
{
    char keys[KEY_SERVERS_MAX][NET_KEY_SIZE], old[NET_KEY_SIZE];
    struct key_file k;

    (void)state;
    assert_int_equal (keyring_new ("keys", "server", NULL), 0);
    assert_int_equal (key_read_servers ("keys/server.pub", keys, NULL), 1);
    memcpy (old, keys[0], NET_KEY_SIZE);
    assert_int_equal (keyring_rotate ("keys", "server", 3600, NULL), 0);
    assert_int_equal (key_read_servers ("keys/server.pub", keys, NULL), 2);
    assert_string_equal (keys[0], public_of ("keys/server.key"));
    assert_string_equal (keys[1], old);
    // killed between the two files: agents know what the .pub had
    assert_int_equal (key_make ("server", &k, NULL), 0);
    assert_int_equal (key_write ("keys/server.key", &k, NULL), 0);
    memcpy (old, keys[0], NET_KEY_SIZE);
    assert_int_equal (keyring_rotate ("keys", "server", 3600, NULL), 0);
    assert_int_equal (key_read_servers ("keys/server.pub", keys, NULL), 2);
    assert_string_equal (keys[1], old);
    // somebody else may have the secret
    assert_int_equal (keyring_rotate ("keys", "server", 0, NULL), 0);
    assert_int_equal (key_read_servers ("keys/server.pub", keys, NULL), 1);
}

/* Killed between enrolling the new key and writing the pair: the node still has
 * the old one, and the next try must not make one that nobody knows.
 */
static void test_rotate_again (void **state)
{
    struct key_file old, next, other;

    (void)state;
    assert_int_equal (keyring_new ("keys", "n", NULL), 0);
    assert_int_equal (key_read ("keys/n.key", &old, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "n", old.public_key, -1, NULL, NULL), 0);
    assert_int_equal (key_make ("n", &next, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "n", next.public_key, 3600, NULL, NULL),
                      0);
    assert_int_equal (keyring_rotate ("keys", "n", 3600, NULL), 0);
    assert_string_not_equal (public_of ("keys/n.pub"), old.public_key);
    assert_int_equal (allowed (public_of ("keys/n.pub"), "n"), 0);
    assert_int_equal (allowed (old.public_key, "n"), 0);
    // enrolled with a key of somewhere else: nothing changes
    assert_int_equal (key_make ("n", &other, NULL), 0);
    assert_int_equal (keyring_revoke ("keys", "n", NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "n", other.public_key, -1, NULL, NULL),
                      0);
    (void)snprintf (next.public_key, NET_KEY_SIZE, "%s",
                    public_of ("keys/n.pub"));
    assert_int_equal (keyring_rotate ("keys", "n", 3600, NULL), -EEXIST);
    assert_string_equal (public_of ("keys/n.pub"), next.public_key);
}

/* But the directory, which has secrets, is its owner's. */
static void test_modes (void **state)
{
    struct key_file k;
    struct stat st;

    (void)state;
    assert_int_equal (key_make ("x", &k, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "n", k.public_key, -1, NULL, NULL), 0);
    assert_int_equal (stat ("keys", &st), 0);
    assert_int_equal (st.st_mode & 07777, 0700);
    assert_int_equal (stat ("keys/enrolled", &st), 0);
    assert_int_equal (st.st_mode & 07777, 0755);
}

/* It is never enrolled without it: it could deliver for a moment. */
static void test_use (void **state)
{
    const struct key_use reads = { "", "eve" }, both = { "h", "eve" };
    struct keyring_entry *list;
    struct key_file k;
    size_t n;

    (void)state;
    assert_int_equal (key_make ("eve", &k, NULL), 0);
    assert_int_equal (keyring_enrol ("used", "eve", k.public_key, -1, &both, NULL),
                      -EINVAL);
    assert_int_equal (access ("used", F_OK), -1);
    assert_int_equal (keyring_enrol ("used", "eve", k.public_key, -1, &reads, NULL),
                      0);
    assert_int_equal (keyring_list ("used", &list, &n, NULL, NULL, NULL), 0);
    assert_int_equal (n, 1);
    assert_string_equal (list[0].file.reads, "eve");
    assert_string_equal (list[0].file.hosts, "");
    free (list);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        KEYRING_TEST (test_enrol_all),     KEYRING_TEST (test_rotate),
        KEYRING_TEST (test_rotate_server), KEYRING_TEST (test_rotate_again),
        KEYRING_TEST (test_modes),         KEYRING_TEST (test_use),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
