/* tests/unit/common/base/test_digest.c - SHA-256 and its text */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void check (const void *data, size_t size, const char *want)
{
    struct digest d;
    char hex[DIGEST_HEX_SIZE];

    assert_int_equal (digest_of (data, size, &d), 0);
    digest_hex (&d, hex);
    assert_string_equal (hex, want);
}

/* FIPS 180-4's examples: another digest would break old shipments. */
static void test_vectors (void **state)
{
    char *million = malloc (1000000);

    (void)state;
    check ("", 0, "e3b0c44298fc1c149afbf4c8996fb924"
                  "27ae41e4649b934ca495991b7852b855");
    check ("abc", 3, "ba7816bf8f01cfea414140de5dae2223"
                     "b00361a396177a9cb410ff61f20015ad");
    check ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_non_null (million);
    memset (million, 'a', 1000000);
    check (million, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67"
                             "f1809a48a497200e046d39ccc7112cd0");
    free (million);
    check (NULL, 0, "e3b0c44298fc1c149afbf4c8996fb924"
                    "27ae41e4649b934ca495991b7852b855");
}

static void test_round_trip (void **state)
{
    struct digest d, e;
    char hex[DIGEST_HEX_SIZE];

    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        for (unsigned k = 0; k < DIGEST_SIZE; k++)
            d.bytes[k] = (uint8_t)(i + 37 * k);
        digest_hex (&d, hex);
        assert_int_equal (strlen (hex), DIGEST_HEX_SIZE - 1);
        memset (&e, 0, sizeof (e));
        assert_int_equal (digest_parse (hex, &e), 0);
        assert_memory_equal (&d, &e, sizeof (d));
    }
}

/* Pieces give the digest of all of them, and each digest begins anew. */
static void test_pieces (void **state)
{
    struct digester *d = digester_create ();
    struct digest whole, got;
    char text[1000];

    (void)state;
    memset (text, 'a', sizeof (text));
    assert_int_equal (digest_of (text, sizeof (text), &whole), 0);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal (digest_add (d, text, 1), 0);
        assert_int_equal (digest_add (d, text, 0), 0);
        assert_int_equal (digest_add (d, text, sizeof (text) - 1), 0);
        assert_int_equal (digest_end (d, &got), 0);
        assert_true (digest_is (&got, &whole));
    }
    assert_int_equal (digest_of ("", 0, &whole), 0);
    assert_int_equal (digest_end (d, &got), 0);
    assert_true (digest_is (&got, &whole));
    digester_destroy (d);
}

/* One digest has one text, and a bad text leaves the result alone. */
static void test_refused (void **state)
{
    static const char good[] =
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    static const char others[] = "gG/:`@ \n-xABCDEF";
    struct digest d, before;
    char text[80];

    (void)state;
    memset (&before, 0x5a, sizeof (before));
    d = before;
    for (size_t at = 0; at < 64; at++) {
        for (const char *c = others; *c; c++) {
            memcpy (text, good, sizeof (good));
            text[at] = *c;
            assert_int_equal (digest_parse (text, &d), -EINVAL);
        }
        memcpy (text, good, sizeof (good));
        text[at] = '\0';                // too short
        assert_int_equal (digest_parse (text, &d), -EINVAL);
    }
    memcpy (text, good, sizeof (good));
    strcat (text, "0");
    assert_int_equal (digest_parse (text, &d), -EINVAL);
    assert_memory_equal (&d, &before, sizeof (d));
}

/* Each byte counts. */
static void test_is (void **state)
{
    struct digest a = { { 1, 2 } }, b = a;

    (void)state;
    assert_true (digest_is (&a, &b));
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        b.bytes[i] ^= 1;
        assert_false (digest_is (&a, &b));
        b.bytes[i] ^= 1;
    }
}

/* The hash of nothing, as a policy of a page has it. */
static void test_base64 (void **state)
{
    char text[DIGEST_BASE64_SIZE];
    struct digest d;

    (void)state;
    assert_int_equal (digest_of ("", 0, &d), 0);
    digest_base64 (&d, text);
    assert_string_equal (text, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

/* RFC 1321. */
static void test_md5 (void **state)
{
    static const struct {
        const char *text, *hex;
    } vectors[] = {
        { "", "d41d8cd98f00b204e9800998ecf8427e" },
        { "abc", "900150983cd24fb0d6963f7d28e17f72" },
        { "message digest", "f96b697d7cb7938d525a2f31aaf161d0" },
    };
    char hex[MD5_HEX_SIZE], base64[MD5_BASE64_SIZE];
    struct md5 m;

    (void)state;
    for (size_t i = 0; i < sizeof (vectors) / sizeof (*vectors); i++) {
        assert_int_equal (digest_md5 (vectors[i].text,
                                      strlen (vectors[i].text), &m), 0);
        md5_hex (&m, hex);
        assert_string_equal (hex, vectors[i].hex);
    }
    assert_int_equal (digest_md5 ("", 0, &m), 0);
    md5_base64 (&m, base64);
    assert_string_equal (base64, "1B2M2Y8AsgTpgAmY7PhCfg==");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_pieces),
        cmocka_unit_test (test_vectors),
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_is),
        cmocka_unit_test (test_base64),
        cmocka_unit_test (test_md5),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
