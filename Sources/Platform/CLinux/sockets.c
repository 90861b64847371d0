// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <sys/socket.h>

int fleet_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

int fleet_peer(int socket, uid_t *user, gid_t *group) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  int result = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  if (result == 0) {
    *user = peer.uid;
    *group = peer.gid;
  }
  return result;
}
