// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/// How far ahead the timer is set, in seconds: it is there for what the kernel reports before.
static const time_t far = 365 * 86400;

static int arm(int watch) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    time_t end = now.tv_sec;
    if (__builtin_add_overflow(end, far, &end)) end = now.tv_sec;
    struct itimerspec alarm_time = {.it_value = {.tv_sec = end > 0 ? end : 1}};
    return timerfd_settime(watch, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &alarm_time, 0);
}

int hardening_watch_clock(void) {
    int watch = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (watch < 0) return -1;
    if (arm(watch) == 0) return watch;
    close(watch);
    return -1;
}

void hardening_rearm_clock_watch(int watch) {
    uint64_t expirations;
    // Fails with ECANCELED where the clock was set, which ends the report.
    ssize_t count = read(watch, &expirations, sizeof expirations);
    (void)count;
    arm(watch);
}
