// SPDX-License-Identifier: Apache-2.0
// A receiver on a serial line: receiver LINK WRITTEN copies standard input to a pseudo-terminal behind LINK, and makes
// the file WRITTEN when anything is written to the line.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

int main(int count, char **arguments) {
  int line = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  struct termios raw;
  if (count != 3 || line < 0 || grantpt(line) || unlockpt(line) || tcgetattr(line, &raw)) return 1;
  // The line keeps its settings while no process has it open.
  cfmakeraw(&raw);
  if (tcsetattr(line, TCSANOW, &raw) || chmod(ptsname(line), 0666) || symlink(ptsname(line), arguments[1])) return 1;
  char buffer[4096];
  ssize_t size;
  while ((size = read(0, buffer, sizeof buffer)) > 0) {
    // Data that does not fit in the buffer is lost.
    if (write(line, buffer, size) < 0) continue;
    if (read(line, buffer, sizeof buffer) > 0) close(open(arguments[2], O_CREAT | O_WRONLY, 0644));
  }
  return 0;
}
