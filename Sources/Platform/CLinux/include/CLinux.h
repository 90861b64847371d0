// SPDX-License-Identifier: Apache-2.0
// Functions of glibc that Swift's Glibc module does not export: macros, variadics, _GNU_SOURCE. No logic.
#pragma once

#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/// SOURCE_DATE_EPOCH when this was built, in seconds since 1970.
int64_t fleet_build_epoch(void);

/// Exit code or signal of a child that changed state (si_status is a macro).
static inline int fleet_child_status(const siginfo_t *info) { return info->si_status; }

/// getopt(3) keeps its state in global variables, which Swift considers unsafe.
static inline void fleet_getopt_restart(void) { optind = 0; }
static inline int fleet_optind(void) { return optind; }
static inline int fleet_optopt(void) { return optopt; }
static inline const char *fleet_optarg(void) { return optarg; }

/// Accepts a connection, close-on-exec and nonblocking (accept4 needs _GNU_SOURCE).
int fleet_accept(int listener);

/// The peer credentials of a Unix socket (SO_PEERCRED; struct ucred needs _GNU_SOURCE).
int fleet_peer(int socket, uid_t *user, gid_t *group);

/// The kernel's counters of a TCP connection (TCP_INFO).
struct fleet_tcp_counters {
  /// Bytes of payload, and segments with or without it; `sent` counts retransmitted bytes again.
  uint64_t sent, received, retransmitted, segments_sent, segments_received;
  /// Both ends send timestamps (RFC 7323).
  bool has_timestamps;
};
/// 0, or -1: not a TCP connection, or a kernel before 4.19, which does not have all counters.
int fleet_tcp_read(int socket, struct fleet_tcp_counters *counters);
/// A close-on-exec socket.
int fleet_socket_open(int family, int type, int protocol);

/// Forbids core files of this process, and prevents other processes of its user from reading its memory
/// (PR_SET_DUMPABLE; prctl is variadic).
void fleet_forbid_core_files(void);

/// A close-on-exec pipe (pipe2 needs _GNU_SOURCE).
int fleet_pipe(int ends[2]);

/// The signal that makes the supervisor of fleet_spawn kill the program and all its descendants.
enum { FLEET_END_HELPER = SIGUSR1 };

/// A running program, which leads a process group, and its supervisor.
struct fleet_helper {
  pid_t supervisor, program;
};

/// Runs a program in its own process group, with no open files except the two pipes and an empty standard input.
/// Returns 0, or an error number, also if the program cannot be executed.
///
/// The supervisor waits for the program, and forwards SIGTERM to its group. When the program or this process has ended,
/// or after FLEET_END_HELPER, it kills all descendants of the program in any process group or session, and ends with
/// the program's status (PR_SET_CHILD_SUBREAPER in prctl(2)).
int fleet_spawn(const char *path, char *const arguments[], char *const environment[], int output, int errors,
  struct fleet_helper *helper);

struct addrinfo;

/// A name that is being looked up by getaddrinfo_a(3), on a thread that glibc creates.
typedef struct fleet_lookup fleet_lookup;
/// Starts to resolve TCP addresses; NULL if there is no memory or thread.
fleet_lookup *fleet_lookup_start(const char *host, const char *port);
bool fleet_lookup_is_running(fleet_lookup *lookup);
/// 0 or EAI_…, after the lookup has ended.
int fleet_lookup_error(fleet_lookup *lookup);
/// The addresses, after the lookup has ended; valid as long as the lookup.
const struct addrinfo *fleet_lookup_result(fleet_lookup *lookup);
/// Frees the lookup. If it is running and cannot be cancelled, its memory is not freed.
void fleet_lookup_end(fleet_lookup *lookup);

/// A socket for notifications of links, addresses and routes (rtnetlink(7)), close-on-exec and nonblocking.
int fleet_netlink_open(void);
/// Requests a dump of all links, addresses or routes: RTM_GETLINK, RTM_GETADDR or RTM_GETROUTE.
ssize_t fleet_netlink_dump(int descriptor, uint16_t type, uint32_t sequence);
/// Receives one datagram; returns its full length, even if the buffer is smaller, and whether the sender is the kernel.
ssize_t fleet_netlink_receive(int descriptor, void *buffer, size_t size, bool *is_kernel);

/// A timer on the wall clock that is cancelled when the clock is stepped or the machine resumes (timerfd_create(2)).
int fleet_clock_watch_open(void);
/// Starts or restarts the timer.
int fleet_clock_watch_arm(int descriptor);

/// Installs a crash handler that writes one line to standard error and to the file `note_path` (NULL: none): the
/// signal, and the addresses relative to their files. `tells_priority`: the line has the journal's prefix for critical
/// lines.
void fleet_crash_report_install(
  const char *program_name, const char *program_version, const char *note_path, bool tells_priority);

/// Display width of a character: 0, 1 or 2; -1 for a control or invalid character (wcwidth(3)).
int fleet_display_width(uint32_t character);
