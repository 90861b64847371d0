// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
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

int fleet_socket_open(int family, int type, int protocol) { return socket(family, type | SOCK_CLOEXEC, protocol); }

int fleet_tcp_read(int socket, struct fleet_tcp_counters *counters) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
  if (length < offsetof(struct tcp_info, tcpi_bytes_retrans) + sizeof info.tcpi_bytes_retrans) return -1;
  *counters = (struct fleet_tcp_counters){
    .sent = info.tcpi_bytes_sent,
    .received = info.tcpi_bytes_received,
    .retransmitted = info.tcpi_bytes_retrans,
    .segments_sent = info.tcpi_segs_out,
    .segments_received = info.tcpi_segs_in,
    .has_timestamps = (info.tcpi_options & TCPI_OPT_TIMESTAMPS) != 0,
  };
  return 0;
}
