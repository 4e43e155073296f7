/* common/options/store_options.h - how a program reaches the object store that its
 * --store names
 */
#ifndef ROLLCALL_OPTIONS_STORE_OPTIONS_H
#define ROLLCALL_OPTIONS_STORE_OPTIONS_H

#include "options/options.h"

/* Rows for 'member', a struct object_options of 'type'. */
#define STORE_OPTIONS(type, member) \
    OPTION_BESIDE ("store", TEXT, "store-endpoint", type, member.endpoint, \
      "URL", NULL, "AWS_ENDPOINT_URL", \
      "Where that store is: http://HOST:PORT or https://HOST:PORT. Without it: " \
      "Amazon's."), \
    OPTION_BESIDE ("store", TEXT, "store-ca", type, member.ca_file, "FILE", \
      NULL, "AWS_CA_BUNDLE", \
      "Certificates of those who may vouch for it, as PEM. Without it: those " \
      "of the system."), \
    OPTION_BESIDE ("store", TEXT, "store-proxy", type, member.proxy, "URL", \
      NULL, NULL, \
      "Ask through this proxy. Without it: as https_proxy and no_proxy say.")

#endif
