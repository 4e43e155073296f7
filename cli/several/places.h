/* cli/several/places.h - the roots and aggregators that a verb asks */
#ifndef ROLLCALL_SEVERAL_PLACES_H
#define ROLLCALL_SEVERAL_PLACES_H

#include "shared/command.h"

#include "net/endpoints.h"
#include "net/keys.h"
#include "store/root.h"

/* As the user names them. */
struct cli_where {
    struct option_list roots;   // one at least
    const char *aggregators, *key, *server_key;
};

#define CLI_WHERE_OPTIONS(type, member) \
    OPTION (LIST, "root", 'r', type, member.roots, "DIR", ROOT_DEFAULT, \
      ROOT_VARIABLE, "The root of an aggregator. If several are named, all are asked."), \
    OPTION (TEXT, "aggregators", 0, type, member.aggregators, "LIST", NULL, \
      NULL, "Ask these aggregators over the network, and a root only if --root " \
      "names it. LIST is a file with a line ENDPOINT SERVER-KEY for each, or " \
      "such lines with commas between, as for rollcall-agent."), \
    OPTION_BESIDE ("aggregators", TEXT, "key", type, member.key, "FILE", NULL, \
      "ROLLCALL_KEY", \
      "With --aggregators: your key, which has been enrolled there with " \
      "rollcall key enrol --reads."), \
    OPTION_BESIDE ("aggregators", TEXT, "server-key", type, member.server_key, \
      "KEY", NULL, "ROLLCALL_SERVER_KEY", \
      "With --aggregators: the public key of those for which LIST has none.")

/* The first root, for what only one is asked. */
const char *cli_first_root (const struct cli_where *w);

/* Whether more is meant than the first root. */
bool cli_asks_several (const struct cli_where *w);

struct cli_place {
    const char *name;           // the root, or the endpoint
    const struct net_security *security;        // NULL: a root
};

#define CLI_PLACES_MAX (OPTION_LIST_MAX + ENDPOINTS_MAX)

struct cli_places {
    struct cli_place list[CLI_PLACES_MAX];
    size_t n;
    struct endpoints endpoints;
};

/* Find out what they are, each once: 0, or an exit status after a message.  The
 * texts are borrowed.  The caller calls cli_places_close in any case.
 */
int cli_places_open (const struct command_spec *c, const struct cli_where *w,
                     struct cli_places *ret);
void cli_places_close (struct cli_places *p);

#endif
