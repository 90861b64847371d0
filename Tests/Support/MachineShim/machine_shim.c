/* SPDX-License-Identifier: Apache-2.0
   Moves the clocks of one program: CLOCK_REALTIME by the first number in the file that CLOCK_SHIM names, CLOCK_BOOTTIME
   by the second, both in seconds. When the file is written again, the clock of a running program is stepped, or its
   machine seems to have been suspended. CLOCK_MONOTONIC stays true, and so do timers: deadlines on CLOCK_BOOTTIME are
   moved back by the offset of that clock.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void offsets(long long *wall, long long *boot) {
  *wall = *boot = 0;
  const char *path = getenv("CLOCK_SHIM");
  int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor < 0) return;
  char text[64];
  ssize_t count = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (count <= 0) return;
  text[count] = 0;
  char *end;
  *wall = strtoll(text, &end, 10);
  *boot = strtoll(end, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result != 0) return result;
  long long wall, boot;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    offsets(&wall, &boot);
    time->tv_sec += wall;
  } else if (clock == CLOCK_BOOTTIME || clock == CLOCK_BOOTTIME_ALARM) {
    offsets(&wall, &boot);
    time->tv_sec += boot;
  }
  return 0;
}

int gettimeofday(struct timeval *restrict value, void *restrict zone) {
  (void)zone;
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  value->tv_sec = time.tv_sec;
  value->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

static int clocks[4096];

int timerfd_create(int clock, int flags) {
  int descriptor = (int)syscall(SYS_timerfd_create, clock, flags);
  if (descriptor >= 0 && descriptor < 4096) clocks[descriptor] = clock;
  return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *value, struct itimerspec *old) {
  struct itimerspec moved = *value;
  int is_boot = descriptor >= 0 && descriptor < 4096 && clocks[descriptor] == CLOCK_BOOTTIME;
  if (is_boot && (flags & TFD_TIMER_ABSTIME) && (value->it_value.tv_sec || value->it_value.tv_nsec)) {
    long long wall, boot;
    offsets(&wall, &boot);
    moved.it_value.tv_sec = moved.it_value.tv_sec > boot ? moved.it_value.tv_sec - boot : 0;
    if (!moved.it_value.tv_sec && !moved.it_value.tv_nsec) moved.it_value.tv_nsec = 1;
  }
  return (int)syscall(SYS_timerfd_settime, descriptor, flags, &moved, old);
}

/* With NO_NETLINK set, no netlink socket can be created, as under a strict RestrictAddressFamilies. */
int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK && getenv("NO_NETLINK")) {
    errno = EAFNOSUPPORT;
    return -1;
  }
  return (int)syscall(SYS_socket, domain, type, protocol);
}
