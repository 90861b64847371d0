// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

int fleet_netlink_open(void) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (descriptor < 0) return -1;
  struct sockaddr_nl address = {
      .nl_family = AF_NETLINK,
      .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE};
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

ssize_t fleet_netlink_dump(int descriptor, uint16_t type, uint32_t sequence) {
  struct {
    struct nlmsghdr header;
    struct rtgenmsg body;
  } request = {
      .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
                 .nlmsg_type = type,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                 .nlmsg_seq = sequence},
      .body = {.rtgen_family = AF_UNSPEC}};
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  return sendto(descriptor, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel);
}

ssize_t fleet_netlink_receive(int descriptor, void *buffer, size_t size, bool *is_kernel) {
  struct sockaddr_nl sender = {0};
  socklen_t length = sizeof sender;
  ssize_t count = recvfrom(descriptor, buffer, size, MSG_TRUNC, (struct sockaddr *)&sender, &length);
  *is_kernel = sender.nl_pid == 0;
  return count;
}
