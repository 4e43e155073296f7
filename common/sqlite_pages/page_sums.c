/* common/sqlite_pages/page_sums.c - whether pages are still the same */
#include "sqlite_pages/page_sums.h"

#include <stdlib.h>
#include <string.h>

#define LANES 4u                // sums that the CPU makes at once
#define WORD_BYTES 8u
#define FACTOR UINT64_C (0x9e3779b97f4a7c15)

/* A bijection of the sum before, and of the word. */
static inline uint64_t sum_step (uint64_t sum, uint64_t word)
{
    sum ^= word;
    return (sum << 29 | sum >> 35) * FACTOR;
}

uint64_t page_sum (const uint8_t *page, uint32_t size)
{
    uint64_t lanes[LANES] = { 1, 2, 3, 4 }, word, sum = size;

    for (uint32_t at = 0; at < size; at += LANES * WORD_BYTES) {
        for (unsigned i = 0; i < LANES; i++) {
            memcpy (&word, page + at + i * WORD_BYTES, sizeof (word));
            lanes[i] = sum_step (lanes[i], word);
        }
    }
    for (unsigned i = 0; i < LANES; i++)
        sum = sum_step (sum, lanes[i]);
    return sum ? sum : 1;
}

void page_sums_fini (struct page_sums *s)
{
    free (s->sums);
    *s = (struct page_sums){ 0 };
}
