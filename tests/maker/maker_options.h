// Shared by the parts of capture_maker that read its command line.

#ifndef MAKER_OPTIONS_H
#define MAKER_OPTIONS_H

#include "maker.h"

#include <getopt.h>

#define MAX_RANKS 131072
#define MAX_STEPS 10000
#define MAX_SKEW 10000000 // ms

// maker_arguments.c
#define WORD_ROOM 64
_Noreturn void usage (const char *format, ...)
    __attribute__ ((format (printf, 1, 2)));
int64_t parse_number (const char *what, const char *text, int64_t low,
                      int64_t high);
int parse_int (const char *what, const char *text, int low, int high);
int parse_word (const char *what, const char *text, const char *const *words);
const char *next_word (const char *what, const char *list, char *word);
bool parse_pair (const char *what, char *text, int high, int *first,
                 int *second);
int parse_owner (const char *what, const char *text, int high,
                 const char **rest);
struct rule *add_rule (const char *what, struct rules *rules, int whose);

// maker_whose_options.c
#define WHOSE_OPTIONS \
    {"start", required_argument, NULL, O_START}, \
        {"gap", required_argument, NULL, O_GAP}, \
        {"process", required_argument, NULL, O_PROCESS}, \
        {"pid", required_argument, NULL, O_PID}, \
        {"boot", required_argument, NULL, O_BOOT}, \
        {"first-host", required_argument, NULL, O_FIRST_HOST}, \
        {"host-name", required_argument, NULL, O_HOST_NAME}, \
        {"worker", required_argument, NULL, O_WORKER}, \
        {"no-host", no_argument, NULL, O_NO_HOST}, \
        {"skew-host", required_argument, NULL, O_SKEW_HOST}, \
        {"ids", required_argument, NULL, O_IDS}, \
        {"no-groups", no_argument, NULL, O_NO_GROUPS}, \
        {"list-members", required_argument, NULL, O_LIST_MEMBERS}, \
        {"no-metadata", no_argument, NULL, O_NO_METADATA}, \
        {"no-schedule", no_argument, NULL, O_NO_SCHEDULE}, \
        {"wait", required_argument, NULL, O_WAIT}, \
        {"warmup", required_argument, NULL, O_WARMUP}, \
        {"steps-list", required_argument, NULL, O_STEPS_LIST}, \
        {"window", required_argument, NULL, O_WINDOW}, \
        {"drop-step", required_argument, NULL, O_DROP_STEP}, \
        {"inflate-edge", required_argument, NULL, O_INFLATE_EDGE}, \
        {"devices", required_argument, NULL, O_DEVICES}, \
        {"local-ranks", no_argument, NULL, O_LOCAL_RANKS}, \
        {"claim-rank", required_argument, NULL, O_CLAIM_RANK}, \
        {"claim-world", required_argument, NULL, O_CLAIM_WORLD}, \
        {"swap", required_argument, NULL, O_SWAP}
enum whose_option {
    O_START = 1000,
    O_GAP,
    O_PROCESS,
    O_PID,
    O_BOOT,
    O_FIRST_HOST,
    O_HOST_NAME,
    O_WORKER,
    O_NO_HOST,
    O_SKEW_HOST,
    O_IDS,
    O_NO_GROUPS,
    O_LIST_MEMBERS,
    O_NO_METADATA,
    O_NO_SCHEDULE,
    O_WAIT,
    O_WARMUP,
    O_STEPS_LIST,
    O_WINDOW,
    O_DROP_STEP,
    O_INFLATE_EDGE,
    O_DEVICES,
    O_LOCAL_RANKS,
    O_CLAIM_RANK,
    O_CLAIM_WORLD,
    O_SWAP
};
bool parse_whose (struct options *opt, int id, const char *arg);
void check_whose (struct options *opt);

#endif
