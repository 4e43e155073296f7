/* cli/status/status_of_places.h - what several aggregators are doing */
#ifndef ROLLCALL_STATUS_STATUS_OF_PLACES_H
#define ROLLCALL_STATUS_STATUS_OF_PLACES_H

#include "several/places.h"

/* Show the daemons of each place: the largest exit status of those that cannot be
 * asked, which are named.
 */
int status_of_places (const struct command_spec *c, const struct cli_places *p,
                      bool json);

#endif
