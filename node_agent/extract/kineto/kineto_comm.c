/* node_agent/extract/kineto/kineto_comm.c - read the description of a
 * communication
 *
 * Names of collectives of torch, NCCL, RCCL, HCCL and gloo, and the arguments
 * of record_param_comms, which libkineto copies to kernels.
 */
#include "extract/kineto/kineto.h"

#include <math.h>

static const struct {
    const char *name;           // part of the name of an op
    const char *words;          // beginnings of names, lower-case letters only
} colls[] = {
    [COLL_NONE] = { "", "" },
    [COLL_ALL_REDUCE] = { "allReduce", "allreduce" },
    [COLL_ALL_GATHER] = { "allGather", "allgather" },
    [COLL_REDUCE_SCATTER] = { "reduceScatter", "reducescatter" },
    [COLL_ALL_TO_ALL] = { "allToAll", "alltoall" },
    [COLL_BROADCAST] = { "broadcast", "broadcast" },
    [COLL_REDUCE] = { "reduce", "reduce" },
    [COLL_GATHER] = { "gather", "gather" },
    [COLL_SCATTER] = { "scatter", "scatter" },
    [COLL_SEND] = { "send", "send" },
    [COLL_RECEIVE] = { "receive", "rec" },
    [COLL_SEND_RECEIVE] = { "sendReceive", "sendrec" },
    [COLL_BARRIER] = { "barrier", "barrier" },
    [COLL_OTHER] = { "other", "" },
};

/* Longer words come before their prefixes. */
static const enum coll order[] = {
    COLL_ALL_REDUCE, COLL_ALL_GATHER, COLL_REDUCE_SCATTER, COLL_ALL_TO_ALL,
    COLL_BROADCAST, COLL_REDUCE, COLL_GATHER, COLL_SCATTER,
    COLL_SEND_RECEIVE, COLL_SEND, COLL_RECEIVE, COLL_BARRIER,
};

/* Skip what precedes the collective in a name. */
static struct span strip (struct span name)
{
    static const char *const starts[] = {
        "ncclDevKernel_", "ncclKernel_", "ncclDevFunc_", "nccl:", "gloo:",
        "hccl:", "mpi:", "ucc:", "c10d::", "hcom_", "nccl", "hccl", "rccl",
    };

    for (size_t i = 0; i < sizeof (starts) / sizeof (starts[0]); i++) {
        size_t n = strlen (starts[i]);

        if (span_starts (name, starts[i]))
            return (struct span){ name.s + n, name.n - n };
    }
    return name;
}

enum coll kineto_coll (struct span name)
{
    char word[24];
    size_t used = 0;

    name = strip (name);
    for (size_t i = 0; i < name.n && used < sizeof (word) - 1; i++) {
        char c = (char)(name.s[i] | 0x20);

        if (c >= 'a' && c <= 'z')
            word[used++] = c;
    }
    word[used] = '\0';
    for (size_t i = 0; i < sizeof (order) / sizeof (order[0]); i++) {
        const char *start = colls[order[i]].words;

        if (strncmp (word, start, strlen (start)) == 0)
            return order[i];
    }
    return COLL_OTHER;
}

const char *kineto_coll_name (enum coll c)
{
    return colls[c].name;
}

bool kineto_coll_p2p (enum coll c)
{
    return c == COLL_SEND || c == COLL_RECEIVE || c == COLL_SEND_RECEIVE;
}

/* Bytes of an element, from the type: of torch (Float), or of "Input type" in
 * old traces (float, long int).
 */
static uint8_t type_size (struct span type)
{
    static const struct {
        const char *name;
        uint8_t size;
    } types[] = {
        { "Float8", 1 }, { "Float", 4 }, { "Half", 2 }, { "BFloat16", 2 },
        { "Double", 8 }, { "Long", 8 }, { "Int", 4 }, { "Short", 2 },
        { "Char", 1 }, { "Byte", 1 }, { "Bool", 1 },
        { "ComplexFloat", 8 }, { "ComplexDouble", 16 },
        { "UInt16", 2 }, { "UInt32", 4 }, { "UInt64", 8 },
        { "float", 4 }, { "c10::Half", 2 }, { "c10::BFloat16", 2 },
        { "double", 8 }, { "long", 8 }, { "int", 4 }, { "short", 2 },
        { "signed char", 1 }, { "unsigned char", 1 }, { "bool", 1 },
    };

    for (size_t i = 0; i < sizeof (types) / sizeof (types[0]); i++) {
        if (i == 0 ? span_starts (type, types[i].name)
                   : span_is (type, types[i].name))
            return types[i].size;
    }
    return 0;
}

/* Read the elements for each rank: "[3, 5]".  A truncated list is not kept. */
static void take_splits (struct kineto *k, struct span text,
                         struct comm_record *r)
{
    const char *p = text.s, *end = text.s + text.n;
    size_t first = k->nsplits;

    r->splits = KINETO_NONE;
    r->nsplits = 0;
    if (p < end && *p == '[')
        p++;
    while (p < end && *p != ']') {
        struct span v = { p = trace_space (p), 0 };
        int64_t elements, *room;

        while (p < end && *p != ',' && *p != ']' && *p != ' ')
            p++;
        v.n = (size_t)(p - v.s);
        p = trace_space (p);
        if (p < end && *p == ',')
            p++;
        if (k->nsplits - first == KINETO_LISTED || !trace_int (v, &elements) ||
            elements < 0 ||
            !(room = kineto_reserve (k, &k->splits, &k->nsplits, &k->splits_cap,
                                     sizeof (*k->splits)))) {
            k->nsplits = first;
            r->nsplits = KINETO_CUT;
            return;
        }
        *room = elements;
    }
    if (k->nsplits > first) {
        r->splits = (uint32_t)first;
        r->nsplits = (uint16_t)(k->nsplits - first);
    }
}

/* Read one of "Input Dims" at '*p', such as "[8192, 384]", as number of
 * elements; -1: there are none, as for a list of tensors.  '*p' is then after
 * it.
 */
static int64_t take_dims (const char **p, const char *end)
{
    const char *at = *p;
    int64_t product = 1;
    bool any = false, bad = false;

    while (at < end && *at != '[')
        at++;
    if (at < end)
        at++;
    while (at < end && *at != ']' && !bad) {
        int64_t v = 0;

        for (at = trace_space (at); at < end && (unsigned)(*at - '0') <= 9 &&
                                    v < INT32_MAX; at++, any = true)
            v = 10 * v + (*at - '0');
        bad = product > INT64_MAX / (v + 1) / 16;
        product *= bad ? 1 : v;
        at = trace_space (at);
        if (at < end && *at == ',')
            at++;
        else
            bad = bad || (at < end && *at != ']');
    }
    *p = at < end ? at + 1 : at;
    return any && !bad ? product : -1;
}

/* Read the first two of "Input Dims": [[339738624], [], ...]. */
static void take_input (struct comm_record *r, struct span dims)
{
    const char *p = dims.s, *end = dims.s + dims.n;

    if (p < end && *p == '[')
        p++;
    r->in = take_dims (&p, end);
    r->second = p < end && r->in >= 0 ? take_dims (&p, end) : -1;
}

/* Read the first of "Input type": ["float", ""]. */
static struct span first_text (struct span list)
{
    const char *p = list.s, *end = list.s + list.n;
    struct span text = { p, 0 };

    while (p < end && (*p == '[' || *p == ' '))
        p++;
    if (p < end && *p == '"' && trace_string (p, end, &text))
        return text;
    return (struct span){ p, 0 };
}

static void take_peer (struct comm_record *r, struct span v)
{
    int64_t rank;

    if (trace_int (v, &rank) && rank >= 0 && rank < capture_world_max)
        r->peer = (int32_t)rank;
}

static int64_t take_count (struct span v)
{
    int64_t n;

    return trace_int (v, &n) && n >= 0 && n < INT64_MAX / 32 ? n : -1;
}

struct group_args {
    struct span name, desc, ranks;
    int64_t size, first, stride;
};

static void take_group_arg (struct group_args *g, struct span key,
                            struct span v)
{
    if (span_is (key, "Process Group Name"))
        g->name = v;
    else if (span_is (key, "Process Group Description"))
        g->desc = v;
    else if (span_is (key, "Process Group Ranks"))
        g->ranks = v;
    else if (span_is (key, "Group size"))
        g->size = take_count (v);
    else if (span_is (key, "Global rank start"))
        g->first = take_count (v);
    else if (span_is (key, "Global rank stride"))
        g->stride = take_count (v);
}

static void take_arg (struct kineto *k, struct comm_record *r,
                      struct span key, struct span v)
{
    if (span_is (key, "Collective name")) {
        r->coll = (uint8_t)kineto_coll (v);
        r->args = true;
    } else if (span_is (key, "dtype")) {
        r->size = type_size (v);
    } else if (span_is (key, "In msg nelems")) {
        r->in = take_count (v);
    } else if (span_is (key, "Out msg nelems")) {
        r->out = take_count (v);
    } else if (span_is (key, "In split size")) {
        take_splits (k, v, r);
    } else if (span_is (key, "Seq")) {
        r->seq = take_count (v);
    } else if (span_is (key, "Dst Rank") || span_is (key, "Src Rank")) {
        take_peer (r, v);
    } else if (span_is (key, "Input Dims") && r->in < 0) {
        take_input (r, v);
    } else if (span_is (key, "Input type") && r->size == 0) {
        r->size = type_size (first_text (v));
    }
}

bool kineto_comm_args (struct kineto *k, const char *args, const char *end,
                       struct comm_record *r)
{
    struct group_args g = { .size = -1, .first = -1, .stride = -1 };
    struct span key, v;
    char type;

    while (trace_member (&args, end, &key, &v, &type) == 1) {
        if (key.n > 7 && (key.s[0] == 'P' || key.s[0] == 'G'))
            take_group_arg (&g, key, v);
        else
            take_arg (k, r, key, v);
    }
    if (r->args && g.name.s &&
        !kineto_group_of_args (k, g.name, g.desc, g.ranks, g.size, g.first,
                               g.stride, &r->group))
        r->group = KINETO_NONE;
    return r->args;
}

/* How often 'share' is in 'whole'; 0: not a whole number of times. */
static uint32_t shares (int64_t whole, int64_t share)
{
    return share > 0 && whole % share == 0 &&
                   whole / share <= capture_world_max
               ? (uint32_t)(whole / share) : 0;
}

void kineto_comm_call (struct comm_record *r)
{
    if (r->args || r->second < 0 || r->out >= 0)
        return;
    r->out = r->in;             // calls of torch have the output first
    r->in = r->second;
    if (r->coll == COLL_ALL_GATHER)
        r->ranks = shares (r->out, r->in);
    else if (r->coll == COLL_REDUCE_SCATTER)
        r->ranks = shares (r->in, r->out);
}

/* Elements of the whole op, and the part of them that a rank must move. */
static double message (const struct comm_record *r, double ranks,
                       double *factor)
{
    double in = (double)r->in, out = (double)r->out;
    double part = (ranks - 1) / ranks;

    *factor = part;
    if (r->out < 0)
        out = r->coll == COLL_ALL_GATHER ? in * ranks : in;
    switch ((enum coll)r->coll) {
    case COLL_ALL_REDUCE:
        *factor = 2 * part;
        return in;
    case COLL_ALL_GATHER:
        return out;
    case COLL_SCATTER:
        return out * ranks;
    case COLL_GATHER:
        return in * ranks;
    case COLL_REDUCE_SCATTER:
    case COLL_ALL_TO_ALL:
        return in;
    case COLL_BROADCAST:
    case COLL_REDUCE:
    case COLL_SEND:
        *factor = 1;
        return in;
    case COLL_RECEIVE:
        *factor = 1;
        return out;
    default:
        return NAN;
    }
}

double kineto_comm_mb (const struct comm_record *r, int64_t n, double *whole)
{
    double ranks = n > 0 ? (double)n : NAN, factor, elements;

    *whole = NAN;
    if (r->size == 0 || r->in < 0)
        return NAN;
    elements = message (r, ranks, &factor);
    *whole = elements * r->size / 1e6;
    return elements * r->size * factor / 1e6;
}
