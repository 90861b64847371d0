// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CPseudoTerminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int fleet_pty_open(char *path, size_t size) {
  int descriptor = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  if (grantpt(descriptor) == 0 && unlockpt(descriptor) == 0 && ptsname_r(descriptor, path, size) == 0 &&
      fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}
