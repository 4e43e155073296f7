/* node_agent/extract/kineto/read_kineto.h - read rows from traces of
 * torch.profiler
 *
 * kineto.h is shared by the files of this folder.
 */
#ifndef ROLLCALL_EXTRACT_KINETO_READ_KINETO_H
#define ROLLCALL_EXTRACT_KINETO_READ_KINETO_H

#include "extract/sink/source.h"

/* The reader: see struct extractor (extract/registry.h). */
enum reading read_kineto (struct source *src, unsigned want, struct err *err);

#endif
