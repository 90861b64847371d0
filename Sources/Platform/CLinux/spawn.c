// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

int fleet_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int fleet_spawn(const char *path, char *const arguments[], char *const environment[], int output, int errors, pid_t *child) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  int result = posix_spawnattr_init(&attributes);
  if (result != 0) return result;
  result = posix_spawn_file_actions_init(&actions);
  if (result != 0) {
    posix_spawnattr_destroy(&attributes);
    return result;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  // This process blocks the signals that its loop receives and ignores SIGPIPE; a child is not to inherit either.
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  result = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (result == 0) result = posix_spawn_file_actions_adddup2(&actions, output, 1);
  if (result == 0) result = posix_spawn_file_actions_adddup2(&actions, errors, 2);
  // libcurl's sockets are not closed on exec.
  if (result == 0) result = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  if (result == 0) result = posix_spawn(child, path, &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return result;
}
