/* tests/unit/common/net/test_keyring.c - who may connect, and who no longer */
#include "common/net/keyring_check.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From the first pair to the last; the open keyring sees each change. */
static void test_life (void **state)
{
    char first[NET_KEY_SIZE], second[NET_KEY_SIZE];
    struct keyring_entry *list;
    struct key_file k;
    size_t n;

    (void)state;
    assert_int_equal (keyring_new ("keys", "n1", NULL), 0);
    assert_int_equal (keyring_new ("keys", "n1", NULL), -EEXIST);
    memcpy (first, public_of ("keys/n1.pub"), NET_KEY_SIZE);
    assert_int_equal (allowed (first, ""), -ENOKEY);
    assert_int_equal (keyring_enrol ("keys", "node", first, -1, NULL, NULL), 0);
    assert_int_equal (allowed (first, "node"), 0);
    // the same again is harmless, another one is not taken by accident
    assert_int_equal (keyring_enrol ("keys", "node", first, -1, NULL, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "two", first, -1, NULL, NULL), -EEXIST);
    assert_int_equal (key_read_public ("keys/n1.key", second, NULL), -EINVAL);
    assert_int_equal (key_read_public ("keys/n1.pub", second, NULL), 0);
    assert_int_equal (key_make ("x", &k, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "node", k.public_key, -1, NULL, NULL),
                      -EEXIST);
    memcpy (second, k.public_key, NET_KEY_SIZE);
    assert_int_equal (keyring_enrol ("keys", "node", second, 3600, NULL, NULL), 0);
    assert_int_equal (allowed (first, "node"), 0);
    assert_int_equal (allowed (second, "node"), 0);
    assert_int_equal (keyring_revoke ("keys", "node", NULL), 0);
    assert_int_equal (allowed (first, ""), -EKEYREVOKED);
    assert_int_equal (allowed (second, ""), -EKEYREVOKED);
    assert_int_equal (keyring_revoke ("keys", "node", NULL), -ENOENT);
    assert_int_equal (keyring_enrol ("keys", "other", first, -1, NULL, NULL),
                      -EKEYREVOKED);
    assert_int_equal (keyring_list ("keys", &list, &n, NULL, NULL, NULL), 0);
    assert_int_equal (n, 3);
    assert_int_equal (list[0].state, KEY_OWN);
    assert_string_equal (list[0].file.secret_key, "");
    assert_int_equal (list[2].state, KEY_REVOKED);
    assert_true (list[2].file.revoked > 0);
    free (list);
}

static size_t told;             // files that are no keys
static int why_told;

static void note_bad (void *arg, int rc, const struct err *why)
{
    assert_non_null (strstr (why->text, arg));
    why_told = rc;
    told++;
}

/* A secret that others can read is named, and hides no other key. */
static void test_unreadable (void **state)
{
    char name[] = "n1.key";
    struct keyring_entry *list = NULL;
    struct err err = { "" };
    size_t n = 0;

    (void)state;
    assert_int_equal (keyring_new ("keys", "n1", NULL), 0);
    assert_int_equal (keyring_new ("keys", "n2", NULL), 0);
    assert_int_equal (chmod ("keys/n1.key", 0640), 0);
    assert_int_equal (keyring_list ("keys", &list, &n, NULL, NULL, &err), -EPERM);
    told = 0;
    assert_int_equal (keyring_list ("keys", &list, &n, note_bad, name, &err), 0);
    assert_int_equal (told, 1);
    assert_int_equal (why_told, -EPERM);
    assert_int_equal (n, 1);
    assert_string_equal (list[0].file.name, "n2");
    free (list);
}

static int speaks (const char *who, const char *host, const char *named)
{
    struct err why = { "" };
    int rc = keyring_speaks (ring, who, host, &why);

    if (rc < 0 && !strstr (why.text, named))
        fail_msg ("no \"%s\" in \"%s\"", named, why.text);
    return rc;
}

/* For whom a key speaks is kept when it is replaced, by either way. */
static void test_hosts (void **state)
{
    struct key_file k;

    (void)state;
    assert_int_equal (keyring_bind ("keys", "n", "h1", NULL), -ENOENT);
    assert_int_equal (keyring_new ("keys", "n", NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "n", public_of ("keys/n.pub"),
                                     -1, NULL, NULL), 0);
    assert_int_equal (speaks ("n", "h1", ""), 0);
    assert_int_equal (keyring_bind ("keys", "n", "h1 h2.example", NULL), 0);
    assert_int_equal (speaks ("n", "h1", ""), 1);
    assert_int_equal (speaks ("n", "h2.example", ""), 1);
    assert_int_equal (speaks ("n", "h2", "key n is bound to host h1 h2.example,"
                              " not to h2"), -EACCES);
    assert_int_equal (speaks ("n", "h1 h2.example", "not to"), -EACCES);
    assert_int_equal (speaks ("n", "", "not to"), -EACCES);
    assert_int_equal (speaks ("m", "h3", ""), 0);
    assert_int_equal (allowed (public_of ("keys/n.pub"), "n"), 0);
    assert_int_equal (keyring_rotate ("keys", "n", 3600, NULL), 0);
    assert_int_equal (speaks ("n", "h3", "h1 h2.example"), -EACCES);
    assert_int_equal (key_make ("x", &k, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "n", k.public_key, 0, NULL, NULL), 0);
    assert_int_equal (speaks ("n", "h3", "h1 h2.example"), -EACCES);
    assert_int_equal (keyring_bind ("keys", "n", KEY_ANY_HOST, NULL), 0);
    assert_int_equal (speaks ("n", "h3", ""), 1);
    assert_int_equal (keyring_bind ("keys", "n", "a\"b", NULL), -EINVAL);
    assert_int_equal (keyring_bind ("keys", "n", "", NULL), -EINVAL);
}

/* Each of many is found by its key and by its name, and no other is. */
static void test_many (void **state)
{
    char key[32][NET_KEY_SIZE], name[16], host[16];
    struct key_file k;

    (void)state;
    for (int i = 0; i < 32; i++) {
        (void)snprintf (name, sizeof (name), "n%d", i);
        (void)snprintf (host, sizeof (host), "h%d", i);
        assert_int_equal (key_make (name, &k, NULL), 0);
        memcpy (key[i], k.public_key, NET_KEY_SIZE);
        assert_int_equal (keyring_enrol ("keys", name, key[i], -1, NULL, NULL), 0);
        assert_int_equal (keyring_bind ("keys", name, host, NULL), 0);
    }
    for (int i = 0; i < 32; i++) {
        (void)snprintf (name, sizeof (name), "n%d", i);
        (void)snprintf (host, sizeof (host), "h%d", i);
        assert_int_equal (allowed (key[i], name), 0);
        assert_int_equal (speaks (name, host, ""), 1);
        assert_int_equal (speaks (name, "h99", "not to h99"), -EACCES);
    }
    assert_int_equal (key_make ("other", &k, NULL), 0);
    assert_int_equal (allowed (k.public_key, ""), -ENOKEY);
    assert_int_equal (speaks ("other", "h1", ""), 0);
    // an older and a revoked key of one name
    assert_int_equal (keyring_enrol ("keys", "n7", k.public_key, 60, NULL, NULL), 0);
    assert_int_equal (allowed (key[7], "n7"), 0);
    assert_int_equal (allowed (k.public_key, "n7"), 0);
    assert_int_equal (keyring_revoke ("keys", "n7", NULL), 0);
    assert_int_equal (allowed (key[7], ""), -EKEYREVOKED);
    assert_int_equal (allowed (key[8], "n8"), 0);
    // one that is revoked, and enrolled once more by hand
    assert_int_equal (key_read ("keys/revoked/n7.pub", &k, NULL), 0);
    assert_int_equal (key_write ("keys/enrolled/again.pub", &k, NULL), 0);
    assert_int_equal (allowed (k.public_key, ""), -EKEYREVOKED);
}

static int reads (const char *who, const char *expected)
{
    char user[KEY_READS_SIZE] = "";
    struct err why = { "" };
    int rc = keyring_reads (ring, who, user, &why);

    if (rc == 0)
        assert_string_equal (user, expected);
    else
        assert_true (why.text[0]);
    return rc;
}

/* A key is a node's or a person's, also when it is replaced. */
static void test_reads (void **state)
{
    struct key_file k, next;

    (void)state;
    assert_int_equal (key_make ("x", &k, NULL), 0);
    assert_int_equal (key_make ("y", &next, NULL), 0);
    assert_int_equal (keyring_let_read ("keys", "n", "alice", NULL), -ENOENT);
    assert_int_equal (keyring_enrol ("keys", "n", k.public_key, -1, NULL, NULL), 0);
    assert_int_equal (keyring_bind ("keys", "n", "h1", NULL), 0);
    assert_int_equal (reads ("n", ""), -EACCES);
    assert_int_equal (keyring_speaks (ring, "n", "h1", NULL), 1);
    assert_int_equal (keyring_let_read ("keys", "n", "alice", NULL), 0);
    assert_int_equal (reads ("n", "alice"), 0);
    assert_int_equal (keyring_speaks (ring, "n", "h1", NULL), -EACCES);
    assert_int_equal (keyring_enrol ("keys", "n", next.public_key, 60, NULL, NULL), 0);
    assert_int_equal (reads ("n", "alice"), 0);
    assert_int_equal (keyring_let_read ("keys", "n", KEY_READS_ALL, NULL), 0);
    assert_int_equal (reads ("n", "*"), 0);
    assert_int_equal (keyring_bind ("keys", "n", "h1", NULL), 0);
    assert_int_equal (reads ("n", ""), -EACCES);
    assert_int_equal (keyring_speaks (ring, "n", "h1", NULL), 1);
    assert_int_equal (reads ("nobody", ""), -EACCES);
    for (size_t i = 0; i < 4; i++) {
        static const char *const bad[] = { "", "a b", "a\"b", "a/b" };

        assert_int_equal (keyring_let_read ("keys", "n", bad[i], NULL),
                          -EINVAL);
    }
}

/* Names are never paths, whatever they are given as. */
static void test_names (void **state)
{
    static const char *const bad[] = { "", ".", "..", "../x", "a/b", ".x",
                                       "a+1", "a\nb" };
    struct key_file k;

    (void)state;
    assert_int_equal (key_make ("x", &k, NULL), 0);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        assert_int_equal (keyring_new ("keys", bad[i], NULL), -EINVAL);
        assert_int_equal (keyring_enrol ("keys", bad[i], k.public_key, -1, NULL,
                                         NULL), -EINVAL);
        assert_int_equal (keyring_revoke ("keys", bad[i], NULL), -EINVAL);
        assert_int_equal (keyring_rotate ("keys", bad[i], 0, NULL), -EINVAL);
    }
    assert_int_equal (access ("keys", F_OK), -1);
}

static void write_text (const char *path, const char *text)
{
    assert_int_equal (fileio_replace (path, text, strlen (text), 0644, NULL),
                      0);
}

/* A file that cannot be understood lets nobody in: where it is in revoked/,
 * nobody at all, since it could be anybody's.
 */
static void test_damaged (void **state)
{
    struct key_file k;

    (void)state;
    assert_int_equal (key_make ("x", &k, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "n", k.public_key, -1, NULL, NULL), 0);
    write_text ("keys/enrolled/m.pub", "nonsense");
    assert_int_equal (allowed (k.public_key, "n"), 0);
    assert_int_equal (mkdir ("keys/revoked", 0700), 0);
    write_text ("keys/revoked/m.pub", "nonsense");
    assert_int_equal (allowed (k.public_key, ""), -EBADMSG);
    assert_int_equal (unlink ("keys/revoked/m.pub"), 0);
    assert_int_equal (allowed (k.public_key, "n"), 0);
}

/* What the service that runs as another user than root makes of it. */
static int allowed_to (uid_t user, const char *key)
{
    struct keyring *k;
    char who[NET_WHO_MAX];
    int rc;

    assert_int_equal (seteuid (user), 0);
    k = keyring_open ("keys");
    assert_non_null (k);
    rc = keyring_allow (k, key, who, NULL);
    keyring_close (k);
    assert_int_equal (seteuid (0), 0);
    return rc;
}

/* root enrols and revokes for a service of another user: if that could not read
 * what was made for it, it would have to refuse everybody.
 */
static void test_other_user (void **state)
{
    const uid_t user = 65534;
    struct key_file kept, gone;
    mode_t mask;

    (void)state;
    if (geteuid () != 0) {
        print_message ("SKIPPED: only root can be another user\n");
        skip ();
    }
    mask = umask (077);
    assert_int_equal (chmod (dir, 0755), 0);
    assert_int_equal (mkdir ("keys", 0700), 0);
    assert_int_equal (chown ("keys", user, (gid_t)-1), 0);
    assert_int_equal (key_make ("kept", &kept, NULL), 0);
    assert_int_equal (key_make ("gone", &gone, NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "kept", kept.public_key, -1, NULL,
                                     NULL), 0);
    assert_int_equal (keyring_enrol ("keys", "gone", gone.public_key, -1, NULL,
                                     NULL), 0);
    assert_int_equal (allowed_to (user, gone.public_key), 0);
    // as a version made it that let only root read it
    assert_int_equal (mkdir ("keys/revoked", 0700), 0);
    assert_int_equal (keyring_revoke ("keys", "gone", NULL), 0);
    assert_int_equal (allowed_to (user, gone.public_key), -EKEYREVOKED);
    assert_int_equal (allowed_to (user, kept.public_key), 0);
    (void)umask (mask);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        KEYRING_TEST (test_life),
        KEYRING_TEST (test_unreadable),
        KEYRING_TEST (test_hosts),
        KEYRING_TEST (test_many),
        KEYRING_TEST (test_reads),
        KEYRING_TEST (test_names),
        KEYRING_TEST (test_damaged),
        KEYRING_TEST (test_other_user),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
