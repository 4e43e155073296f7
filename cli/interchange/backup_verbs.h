/* cli/interchange/backup_verbs.h - rollcall backup and restore */
#ifndef ROLLCALL_INTERCHANGE_BACKUP_VERBS_H
#define ROLLCALL_INTERCHANGE_BACKUP_VERBS_H

int verb_backup (int argc, char **argv);
int verb_restore (int argc, char **argv);

#endif
