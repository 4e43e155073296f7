/* aggregator/archive/capture_place.h - a directory of its own for each of several
 * captures of one name
 *
 * Captures of one rank and name may come from several directories, and, as long
 * as they are not assigned to a job, with several dates.  Outside of a root, all
 * rows and files of the first one are where its name says, and those of each
 * other one are in a directory of their own before it.
 */
#ifndef ROLLCALL_ARCHIVE_CAPTURE_PLACE_H
#define ROLLCALL_ARCHIVE_CAPTURE_PLACE_H

#include "base/map.h"
#include "ledger/ledger.h"

#define CAPTURE_PLACE_MAX 64

struct capture_places {         // of the captures that were seen
    struct map first;
    struct map shared;          // names that several ranks have
};

void capture_places_init (struct capture_places *p);
void capture_places_fini (struct capture_places *p);

/* What is before the capture's name in the path of an item: "", "rank3/",
 * "place-HASH/" or "rank3/place-HASH/".  The first capture of a name that is
 * asked for is the first one.  If items of one job come from several roots, those
 * of the one that has all ranks come first: the others do not know which names are
 * shared.  0; -ENOMEM.
 */
int capture_place (struct capture_places *p, const struct ledger_item *i,
                   char out[CAPTURE_PLACE_MAX]);

#endif
