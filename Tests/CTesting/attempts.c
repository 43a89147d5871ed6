// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CTesting.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int attempt_call(long number) {
    return syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 ? errno : 0;
}

int attempt_clone(uint64_t flags) {
    long child = syscall(SYS_clone, flags | SIGCHLD, 0L, 0L, 0L, 0L);
    if (child == 0) _exit(0);
    if (child < 0) return errno;
    waitpid((pid_t)child, NULL, 0);
    return 0;
}

int attempt_typing(int descriptor) {
    return ioctl(descriptor, TIOCSTI, "x") < 0 ? errno : 0;
}
