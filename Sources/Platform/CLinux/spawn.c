// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int fleet_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

// The following code runs in a process that was forked but has not executed another program: it calls only what a
// signal handler may call, and posix_spawn, which glibc implements without locks and without memory from the heap.

// Kills every child of this process, and with them everything that they have started, as it becomes children of this
// process.
static void end_children(pid_t group) {
  const struct timespec pause = {0, 1000000};
  kill(-group, SIGKILL);
  // Processes that the kernel does not end within two seconds wait for a device.
  for (int round = 0; round < 2000; round++) {
    for (;;) {
      pid_t ended = waitpid(-1, NULL, WNOHANG);
      if (ended < 0 && errno != EINTR) return;
      if (ended == 0) break;
    }
    int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    // Without CONFIG_PROC_CHILDREN only the process group is killed, because other descendants are unknown.
    if (list < 0) return;
    char text[4096];
    ssize_t length = read(list, text, sizeof text);
    close(list);
    pid_t child = 0;
    for (ssize_t index = 0; index < length; index++) {
      if (text[index] >= '0' && text[index] <= '9') {
        child = child * 10 + (text[index] - '0');
      } else {
        if (child > 1) kill(child, SIGKILL);
        child = 0;
      }
    }
    nanosleep(&pause, NULL);
  }
}

static int start(
  const char *path, char *const arguments[], char *const environment[], pid_t *child) {
  posix_spawnattr_t attributes;
  int result = posix_spawnattr_init(&attributes);
  if (result != 0) return result;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  // The daemon blocks the signals of its loop and ignores SIGPIPE; a program must inherit neither.
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // Signals that the program sends to its own process group do not reach the supervisor.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  result = posix_spawn(child, path, NULL, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  return result;
}

// The supervisor's report: 0 and the program's process ID, or an error number.
struct report {
  int result;
  pid_t child;
};

// Starts the program, waits for it, kills the descendants that it has left behind, and ends with its status.
static _Noreturn void supervise(
  const char *path, char *const arguments[], char *const environment[], int output, int errors, int report,
  pid_t parent) {
  sigset_t signals;
  sigfillset(&signals);
  sigprocmask(SIG_SETMASK, &signals, NULL);
  // If SIGCHLD were ignored, waiting for the program would not work.
  signal(SIGCHLD, SIG_DFL);
  setpgid(0, 0);
  prctl(PR_SET_NAME, "helper");
  // Orphans become children of this process, which ends with the daemon.
  int result = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && prctl(PR_SET_PDEATHSIG, FLEET_END_HELPER) == 0 ? 0 : errno;
  if (getppid() != parent) _exit(1);
  int empty = open("/dev/null", O_RDWR | O_CLOEXEC);
  // Moved above the standard descriptors, even if the caller has closed some of those.
  int high_output = fcntl(output, F_DUPFD_CLOEXEC, 10), high_errors = fcntl(errors, F_DUPFD_CLOEXEC, 10);
  int high_report = fcntl(report, F_DUPFD_CLOEXEC, 10);
  if (result == 0 && (empty < 0 || high_output < 0 || high_errors < 0 || high_report < 0 || dup2(empty, 0) < 0
      || dup2(high_output, 1) < 0 || dup2(high_errors, 2) < 0)) {
    result = errno;
  }
  if (high_report >= 0) {
    report = dup2(high_report, 3);
    fcntl(report, F_SETFD, FD_CLOEXEC);
  }
  // The daemon's sockets, locks and files must not stay open here.
  closefrom(4);
  pid_t child = 0;
  if (result == 0) result = start(path, arguments, environment, &child);
  struct report message = {result, child};
  while (write(report, &message, sizeof message) < 0 && errno == EINTR) continue;
  close(report);
  if (result != 0) _exit(1);
  // Only the program may keep the pipes open.
  dup2(0, 1);
  dup2(0, 2);

  int status = 0;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, FLEET_END_HELPER);
  sigaddset(&signals, SIGTERM);
  for (;;) {
    siginfo_t info;
    pid_t ended = 0;
    do {
      int some = 0;
      ended = waitpid(-1, &some, WNOHANG);
      if (ended == child) status = some;
    } while (ended > 0 && ended != child);
    if (ended == child || (ended < 0 && errno == ECHILD)) break;
    int received = sigwaitinfo(&signals, &info);
    if (received == SIGTERM) {
      // The program is not reaped yet, so the process ID is valid. SIGCONT, because a stopped process could not end.
      kill(-child, SIGTERM);
      kill(-child, SIGCONT);
    }
    if (received == FLEET_END_HELPER) {
      end_children(child);
      // As shells report it, so that the waiting parent can distinguish this from a program that something else has
      // killed.
      _exit(128 + SIGKILL);
    }
  }
  end_children(child);
  if (WIFSIGNALED(status)) {
    // Ends by the same signal, but without a second core file.
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&signals);
    kill(getpid(), WTERMSIG(status));
    sigprocmask(SIG_SETMASK, &signals, NULL);
  }
  _exit(WEXITSTATUS(status));
}

int fleet_spawn(const char *path, char *const arguments[], char *const environment[], int output, int errors,
  struct fleet_helper *helper) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return errno;
  pid_t parent = getpid();
  pid_t supervisor = fork();
  if (supervisor == 0) supervise(path, arguments, environment, output, errors, report[1], parent);
  int result = supervisor < 0 ? errno : 0;
  close(report[1]);
  if (result == 0) {
    struct report message;
    struct pollfd end = {.fd = report[0], .events = POLLIN};
    int ready;
    // The program may have stopped the supervisor before it could report.
    while ((ready = poll(&end, 1, 100)) == 0 || (ready < 0 && errno == EINTR)) kill(supervisor, SIGCONT);
    ssize_t count;
    do count = read(report[0], &message, sizeof message);
    while (count < 0 && errno == EINTR);
    result = count == sizeof message ? message.result : ECHILD;
    if (result != 0) {
      while (waitpid(supervisor, NULL, 0) < 0 && errno == EINTR) continue;
    } else {
      *helper = (struct fleet_helper){.supervisor = supervisor, .program = message.child};
    }
  }
  close(report[0]);
  return result;
}
