/* node_agent/identity/trace_kind.h - recognise a trace by its content
 *
 * torch.profiler (Kineto) and torch_npu both write a file of events, under a
 * name that the user chooses.
 */
#ifndef ROLLCALL_IDENTITY_TRACE_KIND_H
#define ROLLCALL_IDENTITY_TRACE_KIND_H

#include "extract/sink/source.h"

/* Examine an open file, which may be compressed, as far as its keys and first
 * events.  It is read from its start; afterwards its offset is undefined.  If
 * it is no trace, but may be meant as one, *why is the reason, a static text;
 * otherwise it is NULL. 'why' may be NULL.
 */
enum trace_kind trace_kind_of (int fd, const char **why);

/* Examine a regular file, without following a symbolic link.  TRACE_OTHER if it
 * cannot be opened.
 */
enum trace_kind trace_kind_at (int dir, const char *name, const char **why);

/* Whether the name is that of a possible trace: *.json, *.json.gz. */
bool trace_may_be (const char *name);

/* Take rank and world size of FORM_TRACE from "distributedInfo", wherever it is
 * in the file.
 */
void trace_identify (struct source *src);

#endif
