/* cli/interchange/archive_tar.c - rollcall archive export and import */
#include "archive_verb.h"

#include "base/units.h"
#include "base/utf8.h"
#include "export/outfile.h"
#include "interchange/export_job.h"
#include "interchange/import_tar.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- export ---- */

static void tell_lost (void *arg, const struct ledger_item *i,
                       const struct err *why)
{
    const struct archive_options *opt = arg;
    char text[2 * MESSAGE_PATH_MAX + ERR_TEXT_MAX];
    char shown[UTF8_ESCAPED (sizeof (text))];

    PRINT (text, "%s%s%s: %s: it is left out", i->capture, *i->path ? "/" : "",
           i->path, why->text);
    (void)cli_fail (opt->command, 0, "%s", utf8_escape (text, UTF8_COLUMN, shown));
}

static int export_to (const struct archive_options *opt, struct archive *a, const char *job,
                      const struct tree *dir, const char *name,
                      struct export_sums *sums, struct err *err)
{
    char temp[NAME_MAX + 1];
    int fd = fileio_create_temp (dir->fd, name, temp), rc;

    if (fd < 0)
        return err_sys (err, -fd, "cannot create a file for %s in %s", name,
                        dir->path);
    rc = export_job (a, job, fd, tell_lost, (void *)opt, &cli_cancelled, sums, err);
    if (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG)
        rc = err_sys (err, -rc, "cannot write %s%s", dir->path, name);
    if (rc == 0 && fsync (fd) < 0)
        rc = err_sys (err, errno, "cannot fsync %s", name);
    if (rc == 0)                // before its lock is gone
        rc = tree_rename (dir, temp, dir, name, err);
    if (rc < 0)
        (void)unlinkat (dir->fd, temp, 0);
    return fileio_close_written (fd, rc);
}

/* A pipe or device is written in place. */
static int export_special (const struct archive_options *opt, struct archive *a,
                           const char *job, const char *file,
                           struct export_sums *sums, struct err *err)
{
    int fd = strcmp (file, "-") == 0 ? STDOUT_FILENO
                                     : outfile_open_special (file);
    int rc;

    if (fd < 0)
        return err_sys (err, -fd, "cannot write %s", file);
    rc = isatty (fd) ? err_set (err, EINVAL, "a tar file is nothing for a "
                                "terminal")
                     : export_job (a, job, fd, tell_lost, (void *)opt,
                                   &cli_cancelled, sums, err);
    return fd == STDOUT_FILENO ? rc : fileio_close_written (fd, rc);
}

static int export_file (const struct archive_options *opt, struct archive *a,
                        const char *job, const char *file,
                        struct export_sums *sums, struct err *err)
{
    const char *slash = strrchr (file, '/');
    const char *name = slash ? slash + 1 : file;
    char path[PATH_MAX];
    struct tree dir = { .fd = -1 };
    struct stat st;
    int rc;

    if (!*name || (stat (file, &st) == 0 && S_ISDIR (st.st_mode)))
        return err_set (err, *file ? EISDIR : EINVAL, "export: \"%s\" is not the name of a "
                        "file: name one, such as %s%s%s.tar", file, file,
                        *name ? "/" : "", job);
    if (!outfile_is_replaced (file))
        return export_special (opt, a, job, file, sums, err);
    PRINT (path, "%.*s", slash ? (int)(slash - file) + 1 : 1,
           slash ? file : ".");
    if ((rc = tree_open (&dir, path, err)) < 0)
        return rc != -ENOENT ? rc       // the job may be there
               : err_set (err, ENOTDIR, "cannot write %s: there is no "
                          "directory %s", file, path);
    rc = tree_check_owner (&dir, opt->foreign, err);
    if (rc == 0)
        rc = export_to (opt, a, job, &dir, name, sums, err);
    tree_close (&dir);
    return rc;
}

int archive_export (const struct archive_options *opt, struct archive *a,
                    const char *job, const char *file)
{
    struct export_sums sums = { 0, 0, 0 };
    struct err err = { "" };
    char bytes[16];
    int rc;

    cli_catch_signals ();
    rc = export_file (opt, a, job, file, &sums, &err);
    if (rc == -EINTR)
        return cli_interrupted (opt->command, !outfile_is_replaced (file)
                                ? "what was written is no whole tar file"
                                : "nothing was written");
    if (rc < 0)
        return cli_fail (opt->command, rc == -ENOENT    ? EX_NOINPUT
                             : rc == -EBADMSG ? EX_DATAERR
                             : rc == -EINVAL  ? EXIT_USAGE
                                              : cli_output_status (rc),
                             "%s", err.text);
    units_bytes_text (sums.bytes, bytes);
    if (strcmp (file, "-") != 0)
        (void)printf ("%llu file%s, %s in %s%s\n",
                      (unsigned long long)sums.files, units_s (sums.files),
                      bytes, file, sums.lost ? "; others are damaged" : "");
    return cli_flush (opt->command, 0) ? EX_IOERR : sums.lost > 0;
}

/* ---- import ---- */

static void tell_refused (void *arg, const char *why)
{
    const struct archive_options *opt = arg;
    char shown[UTF8_ESCAPED (PATH_MAX + 128)];

    (void)cli_fail (opt->command, 0, "left out: %s", utf8_escape (why, UTF8_COLUMN,
                                                       shown));
}

/* An ordinary tar file is unpacked beside the segments, and added. */
static int import_plain (const struct archive_options *opt, struct intake *in,
                         struct tar_reader *from, struct tar_member *first,
                         const char *file)
{
    struct adding a = { .opt = opt, .called = file, .in = in, .unpacked = true };
    struct import_sums sums = { .files = 0 };
    struct tree to = { .fd = -1 };
    struct err err = { "" };
    char path[PATH_MAX], real[PATH_MAX];
    int rc = intake_scratch (in, path, &err), status;

    if (rc == 0)
        rc = tree_open (&to, path, &err);
    if (rc == 0 && !realpath (path, real))
        rc = err_sys (&err, errno, "cannot resolve %s", path);
    if (rc == 0)
        rc = import_unpack (from, first, &to, opt->owner, tell_refused,
                            (void *)opt, &cli_cancelled, &sums, &err);
    tree_close (&to);
    a.dir = real;               // places are what follows it
    status = rc == -EINTR ? cli_interrupted (opt->command, "nothing was imported")
             : rc < 0 ? archive_fail (opt, rc, &err) : archive_add_dir (&a);
    archive_add_end (&a);
    if (fileio_remove_tree (path, &err) < 0)
        (void)cli_fail (opt->command, 0, "%s", err.text);
    return status == 0 && sums.refused > 0 ? EXIT_NOT_ALL : status;
}

static int print_import (const struct archive_options *opt, struct intake *in,
                         const struct import_sums *s)
{
    char shown[UTF8_ESCAPED (MESSAGE_NAME_MAX)], bytes[16], fresh[16];
    uint64_t stored = intake_sums (in).bytes;
    struct json *o, *list;

    if (opt->json) {
        o = json_object ();
        list = json_add_array (o, "jobs");
        json_push_text (list, s->job);
        json_add_int (o, "files", (int64_t)s->files);
        json_add_int (o, "bytes", (int64_t)s->bytes);
        json_add_int (o, "stored", (int64_t)stored);
        json_add_int (o, "elsewhere", (int64_t)s->elsewhere);
        return cli_flush (opt->command, cli_print_json (o));
    }
    units_bytes_text (s->bytes, bytes);
    units_bytes_text (stored, fresh);
    (void)printf ("job %s\n%llu file%s, %s; %s newly stored%s\n",
                  utf8_escape (s->job, UTF8_COLUMN, shown),
                  (unsigned long long)s->files, units_s (s->files), bytes,
                  fresh, intake_sums (in).served ? "" : "; rollcall build --all builds "
                                                 "results");
    if (s->elsewhere > 0)
        (void)printf ("%llu of them stay in the jobs that this root has "
                      "assigned them to\n", (unsigned long long)s->elsewhere);
    return cli_flush (opt->command, 0);
}

static int import_job (const struct archive_options *opt, struct intake *in,
                       struct tar_reader *from, struct import_sums *sums)
{
    struct import_options how = { opt->root, CODEC_LZ4, opt->job, opt->merge };
    struct err err = { "" };
    int rc = pack_parse_codec (opt->compress, &how.codec, &err);

    if (rc == 0 && opt->no_raw)
        rc = err_set (&err, EINVAL, "--no-raw is nothing for an exported job, "
                      "which is imported as a whole");
    if (rc == 0)
        rc = import_export (from, in, &how, &cli_cancelled, sums, &err);
    if (rc == 0 && opt->job)
        PRINT (sums->job, "%s", opt->job);
    if (rc == 0)
        rc = archive_give_tags (in, sums->job, &opt->tags, &err);
    return rc < 0 ? archive_fail (opt, rc, &err) : print_import (opt, in, sums);
}

static int import_from (const struct archive_options *opt, int fd,
                        const char *file)
{
    struct tar_member *first = malloc (sizeof (*first));
    struct tar_reader *from = NULL;
    struct intake *in = NULL;
    struct import_sums sums;
    struct err err = { "" };
    int status = 0, opened, rc = first ? tar_reader_create (fd, &from, &err)
                           : err_set (&err, ENOMEM, "no memory for a tar file");

    if (rc == 0)
        rc = import_begin (from, first, &sums, &err);
    if (rc == 0 && !first->name[0] && !first->refused[0] && !first->directory)
        rc = err_set (&err, EBADMSG, "it has no members");
    if (rc < 0)
        status = cli_fail (opt->command, rc == -EBADMSG ? EX_DATAERR : EX_OSERR,
                               "%s: %s", file, err.text);
    else if ((opened = intake_open (opt->root, true, &in, &err)) < 0)
        status = archive_fail (opt, opened, &err);
    else if (opt->verify)
        intake_verify (in);
    if (in)
        status = rc == 1 ? import_job (opt, in, from, &sums)
                         : import_plain (opt, in, from, first, file);
    intake_close (in);
    tar_reader_destroy (from);
    free (first);
    return status;
}

int archive_import (const struct archive_options *opt, const char *file)
{
    struct stat st;
    int fd, status;

    cli_catch_signals ();
    if (strcmp (file, "-") == 0)
        return import_from (opt, STDIN_FILENO, "standard input");
    if ((fd = open (file, O_RDONLY | O_CLOEXEC)) < 0)
        return cli_fail (opt->command, cli_input_status (-errno),
                         "cannot open %s: %s", file, strerror (errno));
    if (fstat (fd, &st) == 0 && S_ISDIR (st.st_mode)) {
        (void)close (fd);
        return cli_fail (opt->command, EXIT_USAGE, "import: %s is a directory: "
                         "rollcall archive add takes those", file);
    }
    status = import_from (opt, fd, file);
    (void)close (fd);
    return status;
}
