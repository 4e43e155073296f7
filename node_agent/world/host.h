/* node_agent/world/host.h - identify this host
 *
 * Names repeat and containers share kernels, so the key of a host is made of
 * machine-id, boot-id and mount namespace: processes with the same key share
 * local disks.  Use host_id for what has to outlast a boot.
 */
#ifndef ROLLCALL_WORLD_HOST_H
#define ROLLCALL_WORLD_HOST_H

#include <stddef.h>

#define HOST_NAME_MAX_BYTES 256
#define HOST_KEY_SIZE 17                // 16 hex digits and a NUL

void host_name (char *out, size_t max);
void host_key (char out[HOST_KEY_SIZE]);

/* An id made of machine-id and name.  It outlasts a boot, and the start of the
 * agent in another mount namespace.
 */
void host_id (char out[HOST_KEY_SIZE]);

#endif
