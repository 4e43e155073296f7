/* tests/unit/rounds.h - how often a test does the same, by what the build sees
 *
 * ROUNDS (n, address, thread): n times; with the address and undefined
 * behaviour sanitizers, or the thread sanitizer, as often as these see more:
 * the results are the same there, and take ten times as long.
 */
#ifndef ROLLCALL_TESTS_ROUNDS_H
#define ROLLCALL_TESTS_ROUNDS_H

#if defined (__SANITIZE_ADDRESS__)
#define ROUNDS(n, address, thread) (address)
#elif defined (__SANITIZE_THREAD__)
#define ROUNDS(n, address, thread) (thread)
#else
#define ROUNDS(n, address, thread) (n)
#endif

#endif
