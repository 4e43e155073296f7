/* common/model/result_schema.h - schema shared by writers and readers of a
 * result: doc/format-analysis-db.md
 */
#ifndef ROLLCALL_MODEL_RESULT_SCHEMA_H
#define ROLLCALL_MODEL_RESULT_SCHEMA_H

#define TABLES_SCHEMA_VERSION 1         // PRAGMA user_version

// Of table Finding.
#define FINDING_COLUMNS \
    "(id INTEGER PRIMARY KEY, kind TEXT, severity TEXT, step TEXT," \
    " rank INTEGER, peer INTEGER, comm_group INTEGER, effect_ms NUMERIC," \
    " effect_percent NUMERIC, value NUMERIC, unit TEXT, baseline NUMERIC," \
    " text TEXT, hint TEXT, query TEXT, rule TEXT)"

#endif
