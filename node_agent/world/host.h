/* node_agent/world/host.h - which host this is
 *
 * Names repeat and containers share kernels, so a host is told by machine-id,
 * boot-id and mount namespace: processes with the same key share local disks.
 * What is to last longer than a boot takes host_id.
 */
#ifndef ROLLCALL_WORLD_HOST_H
#define ROLLCALL_WORLD_HOST_H

#include <stddef.h>

#define HOST_NAME_MAX_BYTES 256
#define HOST_KEY_SIZE 17                // 16 hex digits and a NUL

void host_name (char *out, size_t max);
void host_key (char out[HOST_KEY_SIZE]);

/* What tells a machine by its machine-id and name, and outlives a boot and the
 * agent's start in another mount namespace.
 */
void host_id (char out[HOST_KEY_SIZE]);

#endif
