// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

int fleet_clock_watch_open(void) { return timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

int fleet_clock_watch_arm(int descriptor) {
  // As far in the future as every kernel accepts: the timer must only be cancelled, never expire.
  struct itimerspec never = {.it_value = {.tv_sec = sizeof(time_t) > 4 ? (time_t)0x1FFFFFFFF : 0x7FFFFFFF}};
  int result = timerfd_settime(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
  // The clock was set once more since the last read; the timer is armed all the same (timerfd_settime(2), NOTES).
  return result < 0 && errno == ECANCELED ? 0 : result;
}
