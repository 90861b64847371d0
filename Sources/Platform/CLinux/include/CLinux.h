// SPDX-License-Identifier: Apache-2.0
// What glibc has and Swift's Glibc module does not show: macros, variadics, _GNU_SOURCE. No logic.
#pragma once

#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/// Seconds since 1970 of SOURCE_DATE_EPOCH when this was built.
int64_t fleet_build_epoch(void);

/// Exit code or signal of a child that changed state (si_status is a macro).
static inline int fleet_child_status(const siginfo_t *info) { return info->si_status; }

/// getopt(3) keeps its place in global variables, which Swift calls unsafe to touch.
static inline void fleet_getopt_restart(void) { optind = 0; }
static inline int fleet_optind(void) { return optind; }
static inline int fleet_optopt(void) { return optopt; }
static inline const char *fleet_optarg(void) { return optarg; }

/// Takes a connection off a listening socket, closed on exec and not blocking (accept4 needs _GNU_SOURCE).
int fleet_accept(int listener);

/// Who connected at the other end of a Unix socket, as the kernel saw it then (SO_PEERCRED; struct ucred needs _GNU_SOURCE).
int fleet_peer(int socket, uid_t *user, gid_t *group);

/// What the kernel has counted of a TCP connection (TCP_INFO).
struct fleet_tcp_counters {
  /// Bytes of payload, and segments with or without it; `sent` counts what was retransmitted again.
  uint64_t sent, received, retransmitted, segments_sent, segments_received;
  /// Both ends send timestamps (RFC 7323).
  bool has_timestamps;
};
/// 0, or -1: no TCP connection, or a kernel before 4.19, which does not count all of it.
int fleet_tcp_read(int socket, struct fleet_tcp_counters *counters);
/// A socket, closed on exec.
int fleet_socket_open(int family, int type, int protocol);

/// A pipe whose ends are closed on exec (pipe2 needs _GNU_SOURCE).
int fleet_pipe(int ends[2]);

/// Makes a helper end, and everything that it has started, when it is sent to the process of fleet_spawn.
enum { FLEET_END_HELPER = SIGUSR1 };

/// A running program, which leads a process group, and the process that waits for it.
struct fleet_helper {
  pid_t supervisor, program;
};

/// Runs a program in a process group of its own, with nothing open but the two pipes and an empty standard input.
/// 0, or an error number: of the program too, when it cannot be executed.
///
/// The supervisor waits for the program, and hands SIGTERM on to its group. When the program has ended, or this process has,
/// or FLEET_END_HELPER comes, it kills everything that the program has started, whatever process group or session that is in, and ends as the
/// program did (PR_SET_CHILD_SUBREAPER in prctl(2)).
int fleet_spawn(const char *path, char *const arguments[], char *const environment[], int output, int errors,
  struct fleet_helper *helper);

struct addrinfo;

/// A name being looked up by getaddrinfo_a(3), on a thread of glibc's own.
typedef struct fleet_lookup fleet_lookup;
/// Starts to look for TCP addresses; NULL when there is no memory or thread for it.
fleet_lookup *fleet_lookup_start(const char *host, const char *port);
bool fleet_lookup_is_running(fleet_lookup *lookup);
/// 0 or EAI_…, once it runs no more.
int fleet_lookup_error(fleet_lookup *lookup);
/// The addresses, once it runs no more; they live as long as the look-up.
const struct addrinfo *fleet_lookup_result(fleet_lookup *lookup);
/// Frees it. One that runs and cannot be cancelled is left behind.
void fleet_lookup_end(fleet_lookup *lookup);

/// A socket that hears of links, addresses and routes (rtnetlink(7)), closed on exec and not blocking.
int fleet_netlink_open(void);
/// Asks for all links, addresses or routes: RTM_GETLINK, RTM_GETADDR or RTM_GETROUTE.
ssize_t fleet_netlink_dump(int descriptor, uint16_t type, uint32_t sequence);
/// Takes one datagram; tells its whole length, also when the buffer is shorter, and whether it is the kernel's.
ssize_t fleet_netlink_receive(int descriptor, void *buffer, size_t size, bool *is_kernel);

/// A timer on the wall clock that is cancelled when somebody sets the clock, or the machine wakes (timerfd_create(2)).
int fleet_clock_watch_open(void);
/// Starts it, for the first time or again.
int fleet_clock_watch_arm(int descriptor);

/// From now on a crash is told on standard error in one line, and in the file `note_path` (NULL: in none): the signal, and where in
/// which file the program was. `tells_priority`: with the journal's mark of a critical line.
void fleet_crash_report_install(
  const char *program_name, const char *program_version, const char *note_path, bool tells_priority);

/// Columns that a character takes on a terminal: 0, 1 or 2; -1 for a control character, or one that is none (wcwidth(3)).
int fleet_display_width(uint32_t character);
