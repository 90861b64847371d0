// SPDX-License-Identifier: Apache-2.0
// A disk that does not respond while /run/stuck-disk exists. Loaded before the C library by LD_PRELOAD.
#include <unistd.h>

static int wait_for_the_disk(void) {
  while (access("/run/stuck-disk", F_OK) == 0) sleep(1);
  return 0;
}

int fsync(int descriptor) { return (void)descriptor, wait_for_the_disk(); }
int fdatasync(int descriptor) { return (void)descriptor, wait_for_the_disk(); }
