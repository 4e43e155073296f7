// The command line of capture_maker.

#include "maker_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPS 1000000
#define MAX_REPEAT 1000
#define HUGE_DEFAULT (INT64_C (1) << 31)
#define MAX_BUBBLE 1000   // ms

enum option_id {
    O_RANKS = 1,
    O_STEPS,
    O_OPS,
    O_FIRST_STEP,
    O_SEED,
    O_ONLY_RANK,
    O_SKIP_RANKS,
    O_SLOW_RANK,
    O_SLOW_LINK,
    O_SLOW_NODE,
    O_IDLE_RANK,
    O_LATE_STEP,
    O_SKEW,
    O_SMALL_PACKETS,
    O_OVERLAP,
    O_BUBBLE,
    O_STEADY,
    O_FORM,
    O_AGE,
    O_LEVEL,
    O_LAYOUT,
    O_RANKS_PER_HOST,
    O_INDENT,
    O_CRLF,
    O_EXTRAS,
    O_STRING_RANK,
    O_NO_RANK,
    O_REPEAT,
    O_TRANSPORTS,
    O_BREAK,
    O_HUGE_BYTES,
    O_TRUTH,
    O_QUIET,
    O_HELP
};

static const struct option long_options[] = {
    {"ranks", required_argument, NULL, O_RANKS},
    {"steps", required_argument, NULL, O_STEPS},
    {"ops", required_argument, NULL, O_OPS},
    {"first-step", required_argument, NULL, O_FIRST_STEP},
    {"seed", required_argument, NULL, O_SEED},
    {"only-rank", required_argument, NULL, O_ONLY_RANK},
    {"skip-ranks", required_argument, NULL, O_SKIP_RANKS},
    {"slow-rank", required_argument, NULL, O_SLOW_RANK},
    {"slow-link", required_argument, NULL, O_SLOW_LINK},
    {"slow-node", required_argument, NULL, O_SLOW_NODE},
    {"idle-rank", required_argument, NULL, O_IDLE_RANK},
    {"late-step", required_argument, NULL, O_LATE_STEP},
    {"skew", required_argument, NULL, O_SKEW},
    {"small-packets", no_argument, NULL, O_SMALL_PACKETS},
    {"overlap", required_argument, NULL, O_OVERLAP},
    {"bubble", required_argument, NULL, O_BUBBLE},
    {"steady", no_argument, NULL, O_STEADY},
    {"form", required_argument, NULL, O_FORM},
    {"age", required_argument, NULL, O_AGE},
    {"level", required_argument, NULL, O_LEVEL},
    {"layout", required_argument, NULL, O_LAYOUT},
    {"ranks-per-host", required_argument, NULL, O_RANKS_PER_HOST},
    {"indent", no_argument, NULL, O_INDENT},
    {"crlf", no_argument, NULL, O_CRLF},
    {"extras", no_argument, NULL, O_EXTRAS},
    {"string-rank", no_argument, NULL, O_STRING_RANK},
    {"no-rank", no_argument, NULL, O_NO_RANK},
    {"repeat", required_argument, NULL, O_REPEAT},
    {"transports", required_argument, NULL, O_TRANSPORTS},
    {"break", required_argument, NULL, O_BREAK},
    {"huge-bytes", required_argument, NULL, O_HUGE_BYTES},
    {"truth", required_argument, NULL, O_TRUTH},
    {"quiet", no_argument, NULL, O_QUIET},
    {"help", no_argument, NULL, O_HELP},
    WHOSE_OPTIONS,
    {NULL, 0, NULL, 0}};

// What a kind of damage needs to have something to damage.
enum need { NEED_NOTHING, NEED_COMM_TEXT, NEED_TEXT, NEED_DB, NEED_DONE };

static const struct {
    const char *name;
    unsigned flag;
    enum need need;
} break_kinds[] = {{"truncated-json", B_TRUNCATED_JSON, NEED_COMM_TEXT},
                   {"wrong-type", B_WRONG_TYPE, NEED_COMM_TEXT},
                   {"empty-file", B_EMPTY_FILE, NEED_COMM_TEXT},
                   {"missing-file", B_MISSING_FILE, NEED_COMM_TEXT},
                   {"missing-csv", B_MISSING_CSV, NEED_TEXT},
                   {"bad-utf8", B_BAD_UTF8, NEED_COMM_TEXT},
                   {"overflow-number", B_OVERFLOW_NUMBER, NEED_COMM_TEXT},
                   {"huge-string", B_HUGE_STRING, NEED_COMM_TEXT},
                   {"deep-nesting", B_DEEP_NESTING, NEED_COMM_TEXT},
                   {"trailing-garbage", B_TRAILING_GARBAGE, NEED_COMM_TEXT},
                   {"corrupt-db", B_CORRUPT_DB, NEED_DB},
                   {"truncated-db", B_TRUNCATED_DB, NEED_DB},
                   {"db-missing-column", B_DB_MISSING_COLUMN, NEED_DB},
                   {"db-extra-column", B_DB_EXTRA_COLUMN, NEED_DB},
                   {"db-missing-table", B_DB_MISSING_TABLE, NEED_DB},
                   {"hot-journal", B_HOT_JOURNAL, NEED_DB},
                   {"symlink", B_SYMLINK, NEED_COMM_TEXT},
                   {"unreadable", B_UNREADABLE, NEED_NOTHING},
                   {"raw", B_RAW, NEED_NOTHING},
                   {"collecting", B_COLLECTING, NEED_NOTHING},
                   {"analysing", B_ANALYSING, NEED_NOTHING},
                   {"no-done", B_NO_DONE, NEED_DONE},
                   {"duplicate-same-step", B_DUPLICATE, NEED_NOTHING},
                   {"two-hosts", B_TWO_HOSTS, NEED_NOTHING}};
#define BREAK_KINDS (sizeof break_kinds / sizeof break_kinds[0])

static _Noreturn void help (void)
{
    puts ("usage: capture_maker [options] OUTDIR\n"
          "makes artificial profiler captures, one directory per rank\n\n"
          "  --ranks N --steps S --ops K --first-step F --seed X\n"
          "  --only-rank R --skip-ranks LIST --ranks-per-host M\n"
          "  --slow-rank R --slow-link SRC-DST --slow-node HOST\n"
          "  --idle-rank R --late-step STEP --skew RANK:MS --small-packets\n"
          "  --overlap PERCENT --bubble MS --steady --transports LIST\n"
          "  --form text|db|both|timeline|kernels|event_db|kineto|msprof|"
          "mindspore\n"
          "  --age 2023|2024|2025|2026 --level 0|1|2\n"
          "  --layout real|renamed|hosts --repeat N\n"
          "  --indent --crlf --extras --string-rank --no-rank\n"
          "  --break KIND[:RANK] --huge-bytes N --truth FILE --quiet\n"
          "  --start SECONDS --gap SECONDS --process N --pid P\n"
          "  --boot [HOST:]SECONDS --first-host H --host-name NAME\n"
          "  --worker NAME --no-host --skew-host HOST:MS\n"
          "  --ids group|root --no-groups --list-members N --no-metadata\n"
          "  --no-schedule --wait N --warmup N --steps-list LIST\n"
          "  --window RANK:FIRST-LAST --drop-step RANK:STEP\n"
          "  --inflate-edge first|last|both --devices N\n"
          "  --local-ranks --claim-rank RANK:N --claim-world RANK:N\n"
          "  --swap A-B:outputs|info\n\n"
          "kinds of --break:");
    for (size_t i = 0; i < BREAK_KINDS; i++)
        printf ("  %s\n", break_kinds[i].name);
    exit (EXIT_SUCCESS);
}

static uint64_t parse_seed (const char *text)
{
    char *end;
    errno = 0;
    unsigned long long x = strtoull (text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-')
        usage ("--seed: '%s' is not a number", text);
    return x;
}

static void parse_skip (struct options *opt, const char *list)
{
    while (list != NULL) {
        char word[WORD_ROOM];
        int first;
        int last;
        list = next_word ("skip-ranks", list, word);
        parse_pair ("skip-ranks", word, MAX_RANKS - 1, &first, &last);
        for (int i = first; i <= last; i++)
            opt->skip[i] = true;
    }
}

static void parse_link (struct options *opt, const char *text)
{
    char word[WORD_ROOM];
    if (next_word ("slow-link", text, word) != NULL ||
        !parse_pair ("slow-link", word, MAX_RANKS - 1, &opt->slow_src,
                     &opt->slow_dst))
        usage ("--slow-link: '%s' is not SRC-DST", text);
}

static void parse_transports (struct options *opt, const char *list)
{
    static const char *const names[] = {"RDMA", "HCCS", "PCIE", "SIO", NULL};
    static const enum transport values[] = {T_RDMA, T_HCCS, T_PCIE, T_SIO};
    opt->transports = 0;
    while (list != NULL) {
        char word[WORD_ROOM];
        list = next_word ("transports", list, word);
        int i = parse_word ("transports", word, names);
        opt->transports |= 1u << values[i];
    }
}

static void parse_break (struct options *opt, const char *text)
{
    char word[WORD_ROOM];
    if (opt->break_count == MAX_BREAKS)
        usage ("--break: more than %d", MAX_BREAKS);
    if (next_word ("break", text, word) != NULL)
        usage ("--break: '%s' is a list", text);
    int rank = 0;
    char *colon = strchr (word, ':');
    if (colon != NULL) {
        *colon = '\0';
        rank = parse_int ("break", colon + 1, 0, MAX_RANKS - 1);
    }
    for (size_t i = 0; i < BREAK_KINDS; i++) {
        if (strcmp (word, break_kinds[i].name) == 0) {
            opt->breaks[opt->break_count++] =
                (struct break_rule){.flag = break_kinds[i].flag, .rank = rank};
            return;
        }
    }
    usage ("--break: unknown kind '%s'", word);
}

static void parse_switch (struct options *opt, int id)
{
    switch (id) {
    case O_INDENT:
        opt->indent = true;
        break;
    case O_CRLF:
        opt->crlf = true;
        break;
    case O_EXTRAS:
        opt->extras = true;
        break;
    case O_STRING_RANK:
        opt->string_rank = true;
        break;
    case O_NO_RANK:
        opt->no_rank = true;
        break;
    case O_QUIET:
        opt->quiet = true;
        break;
    case O_SMALL_PACKETS:
        opt->small_packets = true;
        break;
    case O_STEADY:
        opt->steady = true;
        break;
    case O_HELP:
        help ();
    default:
        usage ("bad option");
    }
}

static void parse_skew (struct options *opt, const char *text)
{
    char word[WORD_ROOM];
    const char *colon = strchr (text, ':');
    if (colon == NULL || next_word ("skew", text, word) != NULL)
        usage ("--skew: '%s' is not RANK:MS", text);
    word[colon - text] = '\0';
    opt->skew_rank = parse_int ("skew", word, 0, MAX_RANKS - 1);
    opt->skew_ms = parse_int ("skew", colon + 1, -MAX_SKEW, MAX_SKEW);
}

static void parse_plant (struct options *opt, int id, const char *arg)
{
    int last = MAX_RANKS - 1;
    switch (id) {
    case O_SLOW_NODE:
        opt->slow_node = parse_int ("slow-node", arg, 0, last);
        break;
    case O_IDLE_RANK:
        opt->idle_rank = parse_int ("idle-rank", arg, 0, last);
        break;
    case O_LATE_STEP:
        opt->late_step = parse_int ("late-step", arg, 0, INT_MAX / 2);
        break;
    case O_SKEW:
        parse_skew (opt, arg);
        break;
    case O_OVERLAP:
        opt->overlap = parse_int ("overlap", arg, 0, 100);
        break;
    case O_BUBBLE:
        opt->bubble_ms = parse_int ("bubble", arg, 1, MAX_BUBBLE);
        break;
    default:
        parse_switch (opt, id);
    }
}

// MindSpore's is text with other names.
static void parse_form (struct options *opt, const char *arg)
{
    static const char *const forms[] = {
        "text",   "db",     "both",      "timeline", "kernels", "event_db",
        "kineto", "msprof", "mindspore", NULL};
    static const int form_bits[] = {
        FORM_TEXT,    FORM_DB,       FORM_BOTH,   FORM_TIMELINE,
        FORM_KERNELS, FORM_EVENT_DB, FORM_KINETO, FORM_MSPROF,
        FORM_TEXT};
    int form = parse_word ("form", arg, forms);
    opt->form = form_bits[form];
    opt->mindspore = strcmp (forms[form], "mindspore") == 0;
}

static void parse_style (struct options *opt, int id, const char *arg)
{
    static const char *const layouts[] = {"real", "renamed", "hosts", NULL};
    switch (id) {
    case O_FORM:
        parse_form (opt, arg);
        break;
    case O_LAYOUT:
        opt->layout = (enum layout)parse_word ("layout", arg, layouts);
        break;
    case O_AGE:
        opt->age = parse_int ("age", arg, FIRST_AGE, LAST_AGE);
        break;
    case O_LEVEL:
        opt->level = parse_int ("level", arg, 0, 2);
        break;
    case O_TRANSPORTS:
        parse_transports (opt, arg);
        break;
    case O_BREAK:
        parse_break (opt, arg);
        break;
    case O_HUGE_BYTES:
        opt->huge_bytes = parse_number ("huge-bytes", arg, 1, INT64_MAX);
        break;
    case O_TRUTH:
        opt->truth = arg;
        break;
    default:
        parse_plant (opt, id, arg);
    }
}

static void parse_option (struct options *opt, int id, const char *arg)
{
    int last = MAX_RANKS - 1;
    switch (id) {
    case O_RANKS:
        opt->ranks = parse_int ("ranks", arg, 1, MAX_RANKS);
        break;
    case O_STEPS:
        opt->steps = parse_int ("steps", arg, 1, MAX_STEPS);
        break;
    case O_OPS:
        opt->ops = parse_int ("ops", arg, 0, MAX_OPS);
        break;
    case O_FIRST_STEP:
        opt->first_step = parse_int ("first-step", arg, 0, INT_MAX / 2);
        break;
    case O_SEED:
        opt->seed = parse_seed (arg);
        break;
    case O_ONLY_RANK:
        opt->only_rank = parse_int ("only-rank", arg, 0, last);
        break;
    case O_SKIP_RANKS:
        parse_skip (opt, arg);
        break;
    case O_SLOW_RANK:
        opt->slow_rank = parse_int ("slow-rank", arg, 0, last);
        break;
    case O_SLOW_LINK:
        parse_link (opt, arg);
        break;
    case O_RANKS_PER_HOST:
        opt->ranks_per_host = parse_int ("ranks-per-host", arg, 1, MAX_RANKS);
        break;
    case O_REPEAT:
        opt->repeat = parse_int ("repeat", arg, 1, MAX_REPEAT);
        break;
    default:
        if (!parse_whose (opt, id, arg))
            parse_style (opt, id, arg);
    }
}

static void check_break (const struct options *opt,
                         const struct break_rule *rule)
{
    size_t i = 0;
    while (break_kinds[i].flag != rule->flag)
        i++;
    const char *name = break_kinds[i].name;
    enum need need = break_kinds[i].need;
    if (rule->rank >= opt->ranks)
        usage ("--break %s: there is no rank %d", name, rule->rank);
    bool text = (opt->form & FORM_TEXT) != 0;
    if ((need == NEED_TEXT || need == NEED_COMM_TEXT) && !text)
        usage ("--break %s needs --form text or both", name);
    if (need == NEED_COMM_TEXT && !has_communication (opt))
        usage ("--break %s needs --level 1 or 2 and ops", name);
    if (need == NEED_DB && (opt->form & FORM_DB) == 0)
        usage ("--break %s needs --form db or both", name);
    if (opt->form & (FORM_KINETO | FORM_MSPROF))
        usage ("--break %s needs a directory of a profiler", name);
    if (need == NEED_DONE && opt->age < AGE_WITH_DONE)
        usage ("--break %s needs --age %d", name, AGE_WITH_DONE);
}

static void check_options (struct options *opt)
{
    if (opt->only_rank >= opt->ranks)
        usage ("--only-rank: there is no rank %d", opt->only_rank);
    if (opt->slow_rank >= opt->ranks)
        usage ("--slow-rank: there is no rank %d", opt->slow_rank);
    if (opt->slow_src >= opt->ranks || opt->slow_dst >= opt->ranks)
        usage ("--slow-link: there is no such rank");
    if (opt->idle_rank >= opt->ranks || opt->skew_rank >= opt->ranks)
        usage ("--idle-rank, --skew: there is no such rank");
    if (opt->slow_node >= 0 &&
        opt->slow_node > (opt->ranks - 1) / opt->ranks_per_host)
        usage ("--slow-node: there is no host %d", opt->slow_node);
    if (opt->age < AGE_WITH_SIO)
        opt->transports &= ~(1u << T_SIO);
    if (opt->transports == 0)
        usage ("--transports: nothing left for that age");
    for (size_t i = 0; i < opt->break_count; i++)
        check_break (opt, &opt->breaks[i]);
    check_whose (opt);
}

void parse_options (int argc, char **argv, struct options *opt)
{
    *opt = (struct options){.ranks = 8,
                            .steps = 2,
                            .ops = 20,
                            .first_step = 10,
                            .seed = 1,
                            .only_rank = -1,
                            .slow_rank = -1,
                            .slow_src = -1,
                            .slow_dst = -1,
                            .slow_node = -1,
                            .idle_rank = -1,
                            .late_step = -1,
                            .skew_rank = -1,
                            .overlap = -1,
                            .form = FORM_TEXT,
                            .age = 2025,
                            .level = 1,
                            .ranks_per_host = 8,
                            .repeat = 1,
                            .huge_bytes = HUGE_DEFAULT,
                            .start_us = -1,
                            .gap_us = -1,
                            .first_pid = 20000,
                            .host_name = "node#",
                            .list_members = MAX_RANKS,
                            .wait = -1,
                            .warmup = -1,
                            .devices = 1,
                            .swap = {.a = -1},
                            .transports =
                                1u << T_RDMA | 1u << T_HCCS | 1u << T_SIO};
    opt->skip = make_room (MAX_RANKS, sizeof *opt->skip);
    int id;
    while ((id = getopt_long (argc, argv, "", long_options, NULL)) != -1) {
        if (id == '?')
            usage ("bad command line");
        parse_option (opt, id, optarg);
    }
    if (optind + 1 != argc)
        usage ("exactly one OUTDIR is needed");
    opt->outdir = argv[optind];
    check_options (opt);
}

unsigned breaks_of (const struct options *opt, int rank)
{
    unsigned flags = 0;
    for (size_t i = 0; i < opt->break_count; i++) {
        if (opt->breaks[i].rank == rank)
            flags |= opt->breaks[i].flag;
    }
    return flags;
}

// Without any op the profiler writes no communication files at all.
bool has_communication (const struct options *opt)
{
    return opt->level > 0 && opt->ops > 0;
}
