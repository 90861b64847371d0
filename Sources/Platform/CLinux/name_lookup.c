// SPDX-License-Identifier: Apache-2.0
// getaddrinfo_a(3) is a GNU extension: Swift's Glibc module has its header without this function.
#define _GNU_SOURCE
#include "CLinux.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct fleet_lookup {
  struct gaicb request;
  struct addrinfo hints;
};

fleet_lookup *fleet_lookup_start(const char *host, const char *port) {
  fleet_lookup *lookup = calloc(1, sizeof *lookup);
  if (lookup == NULL) return NULL;
  lookup->hints.ai_socktype = SOCK_STREAM;
  lookup->hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  lookup->request.ar_name = strdup(host);
  lookup->request.ar_service = strdup(port);
  lookup->request.ar_request = &lookup->hints;
  struct gaicb *list[1] = {&lookup->request};
  struct sigevent quiet = {.sigev_notify = SIGEV_NONE};
  if (lookup->request.ar_name != NULL && lookup->request.ar_service != NULL &&
      getaddrinfo_a(GAI_NOWAIT, list, 1, &quiet) == 0)
    return lookup;
  free((char *)lookup->request.ar_name);
  free((char *)lookup->request.ar_service);
  free(lookup);
  return NULL;
}

bool fleet_lookup_is_running(fleet_lookup *lookup) { return gai_error(&lookup->request) == EAI_INPROGRESS; }

int fleet_lookup_error(fleet_lookup *lookup) { return gai_error(&lookup->request); }

const struct addrinfo *fleet_lookup_result(fleet_lookup *lookup) { return lookup->request.ar_result; }

void fleet_lookup_end(fleet_lookup *lookup) {
  if (fleet_lookup_is_running(lookup)) gai_cancel(&lookup->request);
  // A running thread still writes to this memory, so it is not freed.
  if (fleet_lookup_is_running(lookup)) return;
  if (lookup->request.ar_result != NULL) freeaddrinfo(lookup->request.ar_result);
  free((char *)lookup->request.ar_name);
  free((char *)lookup->request.ar_service);
  free(lookup);
}
