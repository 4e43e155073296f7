/* cli/shared/view.h - verbs that a service runs for users who cannot read its
 * root
 */
#ifndef ROLLCALL_SHARED_VIEW_H
#define ROLLCALL_SHARED_VIEW_H

#include "shared/command.h"

/* For verbs that only read a root.  Whether this user cannot, but a service will
 * run the verb for him; and that: prints what it prints, and returns its exit
 * status.  The operands are words of 'opt', which the verb has parsed.
 */
bool cli_needs_view (const char *root);
int cli_view (const struct command_spec *c, const char *root, const void *opt,
              int n, char *const *operands);

/* The same in two steps: 0 and what it prints comes from v->out; or an exit
 * status after a message.  Then its exit status.
 */
struct cli_view {
    int fd, out, said;          // said: its standard error
};
int cli_view_begin (const struct command_spec *c, const char *root,
                    const void *opt, int n, char *const *operands,
                    struct cli_view *v);
int cli_view_end (const struct command_spec *c, struct cli_view *v);

/* What a service, or rollcall with another root, is asked then: a request "view"
 * (aggregator_views.c), which the caller frees.
 */
struct json *cli_view_request (const struct command_spec *c, const void *opt,
                               int n, char *const *operands);

/* The same of words; each list, which may be NULL, ends with NULL. */
struct json *cli_view_words (const char *verb, const char *const *options,
                             const char *const *operands);

/* Whether a service runs this process for a user; and the user whose jobs it may
 * show, or NULL: all.
 */
bool cli_is_view (void);
const char *cli_visible_to (void);

#endif
