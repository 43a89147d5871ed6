// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int hardening_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

int hardening_open_process(pid_t process) {
    // Close-on-exec by definition.
    return (int)syscall(SYS_pidfd_open, process, 0);
}

int hardening_spawn(const char *executable, char *const arguments[], char *const environment[],
                    const int *descriptors, int count, const char *directory, int new_session, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);

    if (directory) posix_spawn_file_actions_addchdir_np(&actions, directory);
    for (int wanted = 0; wanted < count; wanted++) {
        if (descriptors[wanted] >= 0) {
            posix_spawn_file_actions_adddup2(&actions, descriptors[wanted], wanted);
        } else {
            posix_spawn_file_actions_addopen(&actions, wanted, "/dev/null", O_RDWR, 0);
        }
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, count);

    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
                                              | (new_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP));

    int error = posix_spawnp(child, executable, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int hardening_await(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int hardening_has_stopped(pid_t process) {
    siginfo_t report = {0};
    return waitid(P_PID, (id_t)process, &report, WSTOPPED | WNOHANG) == 0 && report.si_pid == process;
}
