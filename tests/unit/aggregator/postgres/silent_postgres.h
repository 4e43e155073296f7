/* tests/unit/aggregator/postgres/silent_postgres.h - a server that speaks the
 * protocol of PostgreSQL, and is silent when a test wants it to be
 *
 * It waits for silent_postgres_go before it answers "wait", takes the rows of
 * "COPY", answers with each of the ROWS of a question with parameters, or ends at
 * "leave".  Everything else it does at once.
 */
#ifndef ROLLCALL_TESTS_SILENT_POSTGRES_H
#define ROLLCALL_TESTS_SILENT_POSTGRES_H

#include <sys/types.h>

#define SILENT_POSTGRES_ROWS 4

struct silent_postgres {
    char dir[200], uri[256];    // dir: "" if it is asked by TCP
    pid_t pid;
    int go;
};

void silent_postgres_start (struct silent_postgres *s);
void silent_postgres_start_tcp (struct silent_postgres *s);
void silent_postgres_go (struct silent_postgres *s);
void silent_postgres_end (struct silent_postgres *s);

#endif
