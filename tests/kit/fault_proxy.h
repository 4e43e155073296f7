/* tests/kit/fault_proxy.h - one connection through the fault proxy */
#ifndef ROLLCALL_KIT_FAULT_PROXY_H
#define ROLLCALL_KIT_FAULT_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a connection ends. */
enum how { HOW_FIN, HOW_RST, HOW_HALF };        // HALF: the server's side is
                                                // closed, the client's hears
                                                // nothing any more

enum { CLIENT, SERVER };        // whose bytes

/* Bytes on their way, due at a time. */
struct packet {
    struct packet *next;
    int64_t due_ns;
    size_t size, sent;
    uint8_t data[];
};

/* Where in the other side's ZMTP stream a parser is. */
struct zmtp {
    uint64_t skip;              // bytes of greeting or frame that are left
    uint8_t head[9];            // of the next frame: flags, size
    size_t have;
    uint8_t body[12];           // the first bytes of a message: version, type,
    size_t got, want;           // item
    bool greeted, more;
};

struct link {
    struct link *next;
    int fd[2];                  // of the client, of the server; -1 closed
    struct packet *first[2], *last[2];  // what came from that side
    size_t queued[2];
    uint64_t bytes[2];          // that came, since it began
    struct zmtp zmtp;           // of the server's stream
    bool half;                  // the client's bytes are thrown away
};

/* The type of the message that 'byte' completes (its first 12 bytes), or 0;
 * 'item' is its number of the item.  Only for connections without CURVE.
 */
unsigned zmtp_feed (struct zmtp *z, uint8_t byte, uint64_t *item);

/* Put bytes into the queue of a side; -ENOMEM. */
int link_queue (struct link *l, int side, const void *data, size_t size,
                int64_t due_ns);

/* Send what is due to the other side; negative when that is gone. */
int link_flush (struct link *l, int side, int64_t now_ns);

/* End it; 'l' is to be removed then unless it is half open. */
void link_end (struct link *l, enum how how);
void link_free (struct link *l);

#endif
