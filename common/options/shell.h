/* common/options/shell.h - words of commands that users are told to type */
#ifndef ROLLCALL_OPTIONS_SHELL_H
#define ROLLCALL_OPTIONS_SHELL_H

/* Copy 's' into 'out', which has room for SHELL_WORD (strlen (s)) bytes, so that
 * a shell reads it as one word: in single quotes if it has to be.  Returns
 * 'out'.
 */
#define SHELL_WORD(n) (4 * (n) + 3)
char *shell_word (const char *s, char *out);

#endif
