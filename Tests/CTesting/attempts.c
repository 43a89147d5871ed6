// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CTesting.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

int attempt_exposing(void) {
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? errno : 0;
}

int attempt_choosing_tracer(pid_t process) {
    return prctl(PR_SET_PTRACER, (unsigned long)process, 0, 0, 0) < 0 ? errno : 0;
}

int attempt_foreign_call(void) {
#if defined(__x86_64__)
    // getpid with the bit of the x32 calls: what that number means is not what it says.
    return syscall(0x40000000L | SYS_getpid) < 0 ? errno : 0;
#else
    raise(SIGSYS);
    return 0;
#endif
}

int attempt_socket(int family, int type, int protocol) {
    int made = socket(family, type, protocol);
    if (made < 0) return errno;
    close(made);
    return 0;
}

int attempt_socket_pair(int family) {
    int ends[2];
    if (socketpair(family, SOCK_STREAM, 0, ends) < 0) return errno;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

int attempt_attaching(pid_t process) {
    if (ptrace(PTRACE_ATTACH, process, NULL, NULL) < 0) return errno;
    waitpid(process, NULL, __WALL);
    return ptrace(PTRACE_DETACH, process, NULL, NULL) < 0 ? errno : 0;
}

int attempt_reading(pid_t process) {
    char byte;
    // Nothing is mapped there: where reading is allowed the answer is EFAULT.
    struct iovec own = {&byte, 1}, other = {(void *)8, 1};
    return process_vm_readv(process, &own, 1, &other, 1, 0) < 0 ? errno : 0;
}

int attempt_taking_descriptor(pid_t process) {
    int handle = (int)syscall(SYS_pidfd_open, process, 0);
    if (handle < 0) return errno;
    long taken = syscall(SYS_pidfd_getfd, handle, 0, 0);
    int error = errno;
    close(handle);
    if (taken < 0) return error;
    close((int)taken);
    return 0;
}

int testing_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

void testing_await_writers(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
#ifdef F_SETLEASE
    // Refused with EAGAIN while there is a writer; given back when the file is closed.
    while (fcntl(file, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN) sched_yield();
#endif
    close(file);
}

int testing_close_from(void *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
