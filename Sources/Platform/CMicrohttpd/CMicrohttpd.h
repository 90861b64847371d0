// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd's variadic functions, with the types that are used. No logic.
#pragma once

#include <microhttpd.h>

/// Starts a daemon on a listening socket, which the daemon closes. Its sockets are in one epoll set, and it has no
/// thread.
static inline struct MHD_Daemon *fleet_mhd_start(int listening, unsigned int connections, size_t connection_memory,
                                                 MHD_AccessHandlerCallback handler,
                                                 void *(*begin)(void *, const char *, struct MHD_Connection *),
                                                 MHD_RequestCompletedCallback end, void *context) {
  return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK, 0, NULL, NULL,
                          handler, context, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_URI_LOG_CALLBACK, begin,
                          context, MHD_OPTION_NOTIFY_COMPLETED, end, context, MHD_OPTION_CONNECTION_LIMIT, connections,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory, MHD_OPTION_END);
}

static inline int fleet_mhd_epoll_fd(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info == NULL ? -1 : info->epoll_fd;
}

static inline int fleet_mhd_connection_fd(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}
