// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CPseudoTerminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

// A reader that has to change the baud rate flushes the line after it has made it raw, and what is sent in between is
// lost. So the line has the usual baud rate from the start.
static int set_usual_speed(int descriptor) {
  struct termios line;
  if (tcgetattr(descriptor, &line) != 0 || cfsetspeed(&line, B9600) != 0) return -1;
  return tcsetattr(descriptor, TCSANOW, &line);
}

int fleet_pty_open(char *path, size_t size) {
  int descriptor = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  if (grantpt(descriptor) == 0 && unlockpt(descriptor) == 0 && ptsname_r(descriptor, path, size) == 0 &&
      fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 && set_usual_speed(descriptor) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}
