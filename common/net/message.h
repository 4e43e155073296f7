/* common/net/message.h - messages between agents and aggregators
 *
 * doc/format-wire.md describes the protocol and its bytes.  The aggregator
 * pulls data: an agent OFFERs an item, the aggregator GETs pieces of it while
 * it has credit, and ACKs it when its bytes and its row in the ledger are
 * fsynced.
 */
#ifndef ROLLCALL_NET_MESSAGE_H
#define ROLLCALL_NET_MESSAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/pack.h"
#include "model/roster.h"
#include "store/content.h"
#include "store/file_facts.h"

#define MESSAGE_VERSION 1               // any other is refused, with a reason
#define MESSAGE_TEXT_MAX 1024           // bytes of a sentence, with the NUL
#define MESSAGE_NAME_MAX 256            // bytes of a name, with the NUL
#define MESSAGE_PATH_MAX 1024           // bytes of a path within a capture
#define MESSAGE_PLACE_MAX 33            // 32 hex digits of a place, and the NUL

enum message_type {
    // from agents
    MESSAGE_HELLO = 1,
    MESSAGE_RANK = 2,           // a rank of this node began or ended
    MESSAGE_OFFER = 3,
    MESSAGE_CHUNK = 4,
    MESSAGE_GONE = 5,           // an offered item cannot be read any more
    MESSAGE_NOTE = 6,           // a sentence for a person
    MESSAGE_DONE = 7,           // nothing more will come
    MESSAGE_PING = 8,
    MESSAGE_HAVE = 9,           // what became of a WANT
    MESSAGE_DIVIDED = 10,       // the job goes to several aggregators
    MESSAGE_KEPT = 11,          // acknowledged, and kept until it is stored
    // from people who ask
    MESSAGE_ASK = 16,           // a question
    MESSAGE_MORE = 17,          // go on, up to so many bytes of the answer
    // from aggregators
    MESSAGE_WELCOME = 32,
    MESSAGE_REFUSED = 33,
    MESSAGE_GET = 34,
    MESSAGE_ACK = 35,
    MESSAGE_STOP = 36,          // end the COMMANDs
    MESSAGE_ROLL = 37,          // the job is over
    MESSAGE_WANT = 38,          // seal and offer raw files of a capture
    MESSAGE_STORED = 39,        // what is in the object store; answers KEPT
    // from aggregators to people
    MESSAGE_OUTPUT = 48,        // a piece of an answer
    MESSAGE_END = 49,           // the end of an answer
};

enum item_kind { ITEM_ROWS = 1, ITEM_RAW = 2 };

/* What a GET asks for. */
enum chunk_part {
    PART_BYTES = 0,             // of the content
    PART_LIST = 1,              // of the list of the SHA-256s of its chunks
};

/* What a piece of an answer is of. */
enum answer_stream { ANSWER_OUT = 0, ANSWER_SAID = 1 };
#define ANSWER_STREAMS 2
#define ANSWER_PIECE_MAX 12288          // bytes
#define ANSWER_QUESTION_MAX 16384       // bytes of a question
#define ANSWER_WINDOW (1 << 20)         // bytes that may be on their way

#define MESSAGE_LIST_CHUNKS (CONTENT_CHUNK / DIGEST_SIZE)       // of a GET, at
                                                                // most

/* The reason of REFUSED, as far as agents distinguish it. */
enum refusal { REFUSAL_OTHER = 0, REFUSAL_KEY = 1, REFUSAL_VERSION = 2 };

enum rank_phase { RANK_RUNNING = 1, RANK_ENDED = 2 };

/* Which raw files the aggregator wants, in WELCOME. */
enum raw_wanted {
    RAW_ALL = 0,                // all that agents may give
    RAW_ON_DEMAND = 1,          // those that a WANT names
    RAW_UNDECIDED = 2,          // the same, and more WANTs may follow soon
};

/* What became of a WANT, in HAVE. */
enum have_state {
    HAVE_BUSY = 0,              // files of it are being hashed or delivered
    HAVE_ALL_SAID = 1,          // all came, or will never come
    HAVE_NOT_HERE = 2,          // this agent knows no such capture
};

/* Value of a clock that was not measured. */
#define MESSAGE_NO_CLOCK INT64_MIN

/* A position in the ledger of an aggregator: its epoch, a random number of each
 * start (0: none), and the last item that the ledger had then.
 */
struct ledger_mark {
    uint64_t epoch, seq;
};

struct message {
    enum message_type type;
    char job[MESSAGE_NAME_MAX];         // HELLO
    char host[MESSAGE_NAME_MAX];        // HELLO
    char host_key[MESSAGE_NAME_MAX];    // HELLO: unique for a host
    int64_t world_size;                 // HELLO: 0 unknown
    int64_t sent_ns;                    // HELLO, WELCOME (echoed): the
                                        // agent's monotonic clock
    int64_t wall_ns;                    // HELLO, WELCOME: the sender's clock,
                                        // since 1970
    int64_t clock_offset_ns;            // HELLO: aggregator's minus agent's,
    int64_t clock_error_ns;             // and its largest error
    int64_t rank;                       // RANK, OFFER, WANT: -1 none
    int64_t local_rank;                 // RANK: -1 unknown
    enum rank_phase phase;              // RANK
    int64_t status;                     // RANK: exit status, 128+n of signal
                                        // n, -1: ended on request; END: exit
                                        // status
    enum answer_stream stream;          // OUTPUT
    struct command_end command;         // RANK
    int64_t mpi_rank, mpi_size;         // RANK: rank and size of its process
                                        // according to MPI; size 0: not known
    uint64_t item;                      // OFFER ... ACK: the agent's number;
                                        // WANT, HAVE: the aggregator's; ASK ...
                                        // END: the asker's
    enum item_kind kind;                // OFFER
    struct digest content;              // OFFER; END: of all that was printed
    uint64_t size;                      // OFFER: bytes; END: printed; MORE: that
                                        // may come, of both streams, since ASK
    int64_t newest_ns;                  // OFFER: when the capture was last
                                        // written to, since 1970; the later of
                                        // two versions counts; 0: not known
    char capture[MESSAGE_NAME_MAX];     // OFFER, WANT
    char path[MESSAGE_PATH_MAX];        // OFFER: of a raw file, "" for rows;
                                        // WANT: a pattern, "" for all files
    char place[MESSAGE_PLACE_MAX];      // OFFER, WANT: of the directory of the
                                        // capture, if the job's id was not
                                        // given; else ""
    struct file_facts facts;            // OFFER: of a raw file
    enum chunk_part part;               // GET, CHUNK
    uint64_t offset;                    // GET, CHUNK: in that part; OUTPUT: in
                                        // the stream
    uint32_t length;                    // GET: at most CONTENT_CHUNK
    enum chunk_codec codec;             // CHUNK: encoding of the data
    unsigned codecs;                    // WELCOME: that the aggregator has
    const void *data;                   // CHUNK, OUTPUT; ASK: a JSON object;
                                        // borrowed
    size_t data_size;
    void *owned;                        // CHUNK: if not NULL, 'data' is in this
                                        // memory, which net_send frees
    uint64_t left_items;                // PING: how many are not acknowledged
    uint64_t left_captures;             // PING: how many are not read yet
    uint64_t doubtful;                  // DONE: captures that may belong to
                                        // another job
    bool complete;                      // ROLL: every rank is present
    bool home;                          // DIVIDED: you have the rows, 'text' the
                                        // raw files; else the other way round
    bool hurry;                         // KEPT: the agent waits for STORED
    enum refusal reason;                // REFUSED
    struct ledger_mark mark;            // ACK: of the commit with the item;
                                        // HELLO: of the last ACK that the agent
                                        // has recorded; STORED: all that was
                                        // acknowledged up to it is in the
                                        // store, epoch 0: there is none
    bool lost;                          // WELCOME: the ledger lacks something
                                        // that it had at the mark of HELLO
    enum raw_wanted raw;                // WELCOME
    enum have_state have;               // HAVE
    uint64_t files, came, gone;         // HAVE: files of the WANT; of these,
                                        // how many are acknowledged, and how
                                        // many will never come
    char text[MESSAGE_TEXT_MAX];        // RANK, GONE, NOTE, REFUSED, STOP, END,
};                                      // ROLL, DONE, HAVE; WELCOME: why
                                        // nothing is requested, or ""; STORED:
                                        // why nothing gets there now, or ""

/* Whether messages of a type have data, in a frame of its own. */
bool message_has_data (enum message_type t);

/* Append the bytes of a message, without its data. */
void message_encode (const struct message *m, struct buf *out);

/* Decode a message; the caller sets its data. -EBADMSG: it is
 * malformed, or a member is out of bounds; -EPROTONOSUPPORT: it is of another
 * version, or has an unknown type or members.  Answer both with REFUSED and the
 * reason.
 */
int message_decode (struct message *m, const void *bytes, size_t size,
                    struct err *err);

/* Append facts, and read them; also in the records of a store. */
struct wire;
void message_put_facts (struct buf *b, const struct file_facts *f);
void message_get_facts (struct wire *w, struct file_facts *f);

const char *message_name (enum message_type t);

/* Whether the name of a job or capture is valid: not empty, no slash, not only
 * dots.  The other side uses it in paths.
 */
bool message_valid_name (const char *name);

/* Whether a place is valid: lower-case hex digits, or empty. */
bool message_valid_place (const char *place);

/* Whether the name of an item is valid: a kind, a rank (-1: none), the name of
 * a capture, and for a raw file a relative path inside it.
 */
bool message_valid_item (enum item_kind kind, int64_t rank,
                         const char *capture, const char *path);

#endif
