/* node_agent/identity/trace_kind.h - what a file of JSON is, by its content
 *
 * torch.profiler (Kineto) and torch_npu both write one file of events under
 * names of people's choice.
 */
#ifndef ROLLCALL_IDENTITY_TRACE_KIND_H
#define ROLLCALL_IDENTITY_TRACE_KIND_H

#include "extract/sink/source.h"

/* Look at an open file, inflated if need be, as far as its keys and its first
 * events; it is read from its start, and then stands anywhere.  Of one that is
 * no trace, but might have been meant as one, '*why' says why not, in static
 * words; otherwise it is NULL.  'why' may be NULL.
 */
enum trace_kind trace_kind_of (int fd, const char **why);

/* The same of a regular file, not through a symbolic link; TRACE_OTHER if it
 * cannot be opened.
 */
enum trace_kind trace_kind_at (int dir, const char *name, const char **why);

/* Whether a file's name says that it might be one: *.json, *.json.gz. */
bool trace_may_be (const char *name);

/* FORM_TRACE: rank and world size, from "distributedInfo" wherever in the file
 * it is.
 */
void trace_identify (struct source *src);

#endif
