/* tests/unit/common/store/test_content.c - ids of contents */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/byte_source.h"
#include "store/content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What sha256sum says of bytes that are one chunk, or none. */
static void test_one_chunk (void **state)
{
    struct content_hash h;
    struct digest want, got;

    (void)state;
    content_hash_init (&h);
    assert_int_equal (digest_of ("", 0, &want), 0);
    assert_int_equal (content_hash_end (&h, &got), 0);
    assert_memory_equal (&got, &want, sizeof (got));
    assert_int_equal (content_hash_add (&h, "abc", 3), 0);
    assert_int_equal (digest_of ("abc", 3, &want), 0);
    assert_int_equal (content_hash_end (&h, &got), 0);
    assert_memory_equal (&got, &want, sizeof (got));
    content_hash_fini (&h);
}

/* A chunk whose bytes are the list of another content's chunks has another id:
 * who knows the list could put the one in the other's place.
 */
static void test_list_is_no_chunk (void **state)
{
    struct digest list[2], chunk, id;

    (void)state;
    assert_int_equal (digest_of ("a", 1, &list[0]), 0);
    assert_int_equal (digest_of ("b", 1, &list[1]), 0);
    assert_int_equal (digest_of (list, sizeof (list), &chunk), 0);
    assert_int_equal (content_list_id (list, 2, &id), 0);
    assert_false (digest_is (&id, &chunk));
    for (size_t i = 0; i < DIGEST_SIZE; i++)
        assert_int_equal (id.bytes[i] ^ chunk.bytes[i], 0xff);
}

static void test_file (void **state)
{
    uint8_t *bytes = calloc (1, CONTENT_CHUNK + 10);
    int fd = memfd_create ("content", MFD_CLOEXEC);
    struct digest list[2], want, got;
    struct byte_source from;
    char tail[4] = "";

    (void)state;
    memcpy (bytes + CONTENT_CHUNK, "0123456789", 10);
    assert_int_equal (write (fd, bytes, CONTENT_CHUNK + 10),
                      CONTENT_CHUNK + 10);
    assert_int_equal (digest_of (bytes, CONTENT_CHUNK, &list[0]), 0);
    assert_int_equal (digest_of ("0123456789", 10, &list[1]), 0);
    assert_int_equal (content_list_id (list, 2, &want), 0);
    assert_int_equal (content_id_of_file (fd, CONTENT_CHUNK + 10, &got, NULL),
                      0);
    assert_memory_equal (&got, &want, sizeof (got));
    from = byte_source_of (fd, 5, CONTENT_CHUNK + 5);
    assert_int_equal (from.read (&from, tail, 3, CONTENT_CHUNK + 2), 0);
    assert_string_equal (tail, "789");
    assert_int_equal (from.read (&from, tail, 4, CONTENT_CHUNK + 2), -ENODATA);
    (void)close (fd);
    free (bytes);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_one_chunk),
        cmocka_unit_test (test_list_is_no_chunk),
        cmocka_unit_test (test_file),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
