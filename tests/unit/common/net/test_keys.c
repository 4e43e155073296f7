/* tests/unit/common/net/test_keys.c - key files: read as written, else refused
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/test_keys.XXXXXX";

static int make_dir (void **state)
{
    (void)state;
    return mkdtemp (dir) && chdir (dir) == 0 ? 0 : -1;
}

static int remove_dir (void **state)
{
    (void)state;
    (void)unlink ("n.key");
    (void)unlink ("n.pub");
    return chdir ("/") == 0 ? rmdir (dir) : -1;
}

static void test_round_trip (void **state)
{
    struct key_file in, out;
    struct stat st;

    (void)state;
    assert_int_equal (key_make ("n", &in, NULL), 0);
    in.until = in.created + 3600;
    in.revoked = in.created + 1;
    in.former_until = in.created + 2;
    memcpy (in.former_key, in.public_key, NET_KEY_SIZE);
    (void)umask (0);
    assert_int_equal (key_write ("n.key", &in, NULL), 0);
    (void)umask (022);
    assert_int_equal (stat ("n.key", &st), 0);
    assert_int_equal (st.st_mode & 07777, 0600);
    assert_int_equal (key_read ("n.key", &out, NULL), 0);
    assert_memory_equal (&in, &out, sizeof (in));
}

/* A secret that others may have read is none. */
static void test_private (void **state)
{
    struct key_file k;
    struct err err = { "" };

    (void)state;
    assert_int_equal (key_make ("n", &k, NULL), 0);
    assert_int_equal (key_write ("n.key", &k, NULL), 0);
    assert_int_equal (chmod ("n.key", 0640), 0);
    assert_int_equal (key_read ("n.key", &k, &err), -EPERM);
    assert_non_null (strstr (err.text, "0640"));
    assert_int_equal (k.secret_key[0], 0);
    // nor is it under another name
    assert_int_equal (chmod ("n.key", 0604), 0);
    assert_int_equal (rename ("n.key", "n.pub"), 0);
    assert_int_equal (key_read ("n.pub", &k, &err), -EPERM);
    assert_int_equal (chmod ("n.pub", 0600), 0);
    assert_int_equal (key_read ("n.pub", &k, &err), 0);
}

/* With 'key' in the place of the first '@'. */
static int parse (const char *text, const char *key, struct err *err)
{
    size_t n = strcspn (text, "@");
    struct key_file k;
    struct buf b;
    int rc;

    buf_init (&b, 1024);
    buf_put (&b, text, n);
    if (text[n]) {
        buf_put (&b, key, strlen (key));
        buf_put (&b, text + n + 1, strlen (text + n + 1));
    }
    rc = key_parse (buf_text (&b), b.size, &k, err);
    buf_fini (&b);
    return rc;
}

static void test_text (void **state)
{
    static const char *const bad[] = {
        "", "curve\n", "public-key = \"@\"\n",
        "curve\n    public-key = @\n",
        "curve\n    public-key \"@\"\n",
        "curve\n    public-key = \"@\" more\n",
        "curve\n    public-key = = \"@\"\n",
        "curve\n    public-key = \"@\n",
        "curve\n    public-key = \"x@\"\n",
        "curve\n    other-key = \"@\"\n",
        "curves\n    public-key = \"@\"\n",
        "metadata\n    name = \"../x\"\ncurve\n    public-key = \"@\"\n",
        "metadata\n    name = \"a/b\"\ncurve\n    public-key = \"@\"\n",
        "metadata\n    until = \"soon\"\ncurve\n    public-key = \"@\"\n",
    };
    static const char *const good[] = {
        "curve\n    public-key = \"@\"\n", "curve\n\tpublic-key = \"@\"",
        "# c\n\nmetadata\n    email = \"a.b\"\ncurve\n  public-key=\"@\" \r\n",
    };
    struct key_file k, other;
    struct err err;
    char twice[256];

    (void)state;
    assert_int_equal (key_make ("n", &k, NULL), 0);
    assert_int_equal (key_make ("n", &other, NULL), 0);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        err.text[0] = '\0';
        if (parse (bad[i], k.public_key, &err) != -EBADMSG || !err.text[0])
            fail_msg ("taken: %s", bad[i]);
    }
    for (size_t i = 0; i < sizeof (good) / sizeof (good[0]); i++)
        assert_int_equal (parse (good[i], k.public_key, NULL), 0);
    // two that are no pair, and one key twice
    (void)snprintf (twice, sizeof (twice), "curve\n public-key = \"@\"\n "
                    "secret-key = \"%s\"\n", other.secret_key);
    assert_int_equal (parse (twice, k.public_key, &err), -EBADMSG);
    assert_int_equal (parse (twice, other.public_key, &err), 0);
    (void)snprintf (twice, sizeof (twice), "curve\n public-key = \"@\"\n "
                    "public-key = \"%s\"\n", k.public_key);
    assert_int_equal (parse (twice, k.public_key, &err), -EBADMSG);
}

static void test_valid (void **state)
{
    struct key_file k;
    char key[NET_KEY_SIZE];

    (void)state;
    assert_true (key_valid_name ("node-1.example_x"));
    assert_false (key_valid_name (""));
    assert_false (key_valid_name (".."));
    assert_false (key_valid_name (".hidden"));
    assert_false (key_valid_name ("a/b"));
    assert_false (key_valid_name ("a+1"));
    assert_false (key_valid_name ("0123456789012345678901234567890123456789"
                                  "012345678901234567890123"));
    assert_int_equal (key_make ("n", &k, NULL), 0);
    assert_true (key_valid (k.public_key));
    assert_int_equal (key_read_public (k.public_key, key, NULL), 0);
    k.public_key[5] = '"';
    assert_false (key_valid (k.public_key));
    assert_int_equal (key_read_public (k.public_key, key, NULL), -ENOENT);
}

/* A path of 40 characters could be a key: it must not be enrolled as one. */
static void test_path_like_key (void **state)
{
    static const char path[] = "./././././././././././././././././.n.pub";
    char key[NET_KEY_SIZE];
    struct key_file k;

    (void)state;
    assert_true (key_valid (path));
    assert_int_equal (key_read_public (path, key, NULL), 0);
    assert_string_equal (key, path);
    assert_int_equal (key_make ("n", &k, NULL), 0);
    k.secret_key[0] = '\0';
    assert_int_equal (key_write (path, &k, NULL), 0);
    assert_int_equal (key_read_public (path, key, NULL), 0);
    assert_int_equal (unlink (path), 0);
    assert_string_equal (key, k.public_key);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip), cmocka_unit_test (test_private),
        cmocka_unit_test (test_text),       cmocka_unit_test (test_valid),
        cmocka_unit_test (test_path_like_key),
    };

    return cmocka_run_group_tests (tests, make_dir, remove_dir);
}
