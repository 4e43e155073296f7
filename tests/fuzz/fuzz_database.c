/* tests/fuzz/fuzz_database.c - an analysis.db that a profiler wrote
 *
 * The input becomes the database of a capture (fuzz_db.h).  Whatever comes,
 * the capture gets a state and a reason, nothing is written beside it, and
 * there are not more rows than there can be in so many bytes.
 */
#include "fuzz_capture_db.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct fuzz_base base;
    uint64_t bytes, rows;

    if (!base.data)
        base = fuzz_base_of_sql (base_sql);
    rows = fuzz_capture_of_db ("analysis.db", base, data, size, &bytes);
    if (4 * rows > bytes)
        abort ();
    return 0;
}
