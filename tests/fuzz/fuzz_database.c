/* tests/fuzz/fuzz_database.c - an analysis.db that a profiler wrote
 *
 * The input becomes the database of a capture (fuzz_db.h).  Whatever comes,
 * the capture gets a state and a reason, nothing is written beside it, and
 * there are not more rows than there can be in so many bytes.
 */
#include "base/fileio.h"
#include "extract/extract.h"
#include "fuzz_db.h"
#include "fuzz_rows.h"

#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define OUT "capture/ASCEND_PROFILER_OUTPUT"
static const char base_sql[] =
    "PRAGMA page_size=512;"
    "CREATE TABLE CommAnalyzerBandwidth (hccl_op_name TEXT, group_name TEXT, "
    "transport_type TEXT, transit_size NUMERIC, transit_time NUMERIC, "
    "bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, "
    "count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT);"
    "CREATE TABLE CommAnalyzerMatrix (hccl_op_name TEXT, group_name TEXT, "
    "src_rank TEXT, dst_rank TEXT, transport_type TEXT, transit_size NUMERIC,"
    "transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, "
    "op_name TEXT);"
    "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, group_name TEXT, "
    "start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC, "
    "wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, "
    "step TEXT, type TEXT);"
    "CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing "
    "NUMERIC, communication_not_overlapped NUMERIC, overlapped NUMERIC, "
    "communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
    "communication_not_overlapped_and_exclude_receive NUMERIC, "
    "preparing NUMERIC);"
    "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);"
    "INSERT INTO RANK_DEVICE_MAP VALUES (3, 1);"
    "INSERT INTO CommAnalyzerBandwidth VALUES "
    "('a', 'g', 'HCCS', 1, 2, 3.5, 0.1, 8, 2, 4, 'step1', 'p2p');"
    "INSERT INTO CommAnalyzerMatrix VALUES "
    "('a', 'g', '0', '1', 'HCCS', 1, 2.5, 3, 'step1', 'p2p', 'a-top1');"
    "INSERT INTO CommAnalyzerTime VALUES "
    "('a', 'g', 1, 2, 3, 4.5, 5, 6, 'step1', 'p2p'),"
    "('b', 'g', 1, 2, 3, 4.5, 5, 6, 'step2', 'collective');"
    "INSERT INTO StepTraceTime VALUES (1, '1', 2, 3, 4, 5.5, 6, 7, 8, 9, 0);";

/* How many files there are, and their bytes. */
static unsigned files (uint64_t *bytes)
{
    char path[PATH_MAX];
    DIR *dir = opendir (fuzz_path (path, OUT));
    struct dirent *e;
    struct stat st;
    unsigned n = 0;
    int rc;

    if (!dir)
        abort ();
    *bytes = 0;
    for (; (e = fileio_next_entry (dir, &rc)); n++) {
        if (fstatat (dirfd (dir), e->d_name, &st, 0) == 0)
            *bytes += (uint64_t)st.st_size;
    }
    (void)closedir (dir);
    return n;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct fuzz_base base;
    struct fuzz_rows_seen seen = { 0, 0 };
    const struct row_sink sink = fuzz_rows (&seen);
    char path[PATH_MAX];
    struct capture c;
    uint64_t bytes;
    unsigned before;

    if (!base.data)
        base = fuzz_base_of_sql (base_sql);
    fuzz_remove ("capture");
    fuzz_mkdir (OUT);
    fuzz_db_write (OUT "/analysis.db", base, data, size);
    before = files (&bytes);
    capture_init (&c);
    if (extract_capture (fuzz_path (path, "capture"), NULL, &sink, &c, NULL) <
        0)
        abort ();
    if (c.state != CAPTURE_COMPLETE && !c.reason[0])
        abort ();               // a person would not know why
    if (files (&bytes) != before || 4 * seen.rows > bytes)
        abort ();
    capture_fini (&c);
    return 0;
}
