// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int hardening_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

struct watched {
    pid_t process;
    int writing;
};

// Closes the pipe once the process has ended. A child stays there to be waited for.
static void *watch_process(void *argument) {
    struct watched watched = *(struct watched *)argument;
    free(argument);
    siginfo_t report;
    int result;
    do {
        result = waitid(P_PID, (id_t)watched.process, &report, WEXITED | WNOWAIT);
    } while (result < 0 && errno == EINTR);
    // Not a child of this process.
    while (result < 0 && kill(watched.process, 0) == 0) usleep(20000);
    close(watched.writing);
    return NULL;
}

// What stands for a pidfd where there is none: a pipe that a thread closes.
static int open_process_watch(pid_t process) {
    int ends[2], error = ENOMEM;
    if (hardening_pipe(ends) < 0) return -1;
    struct watched *watched = malloc(sizeof *watched);
    if (watched) {
        *watched = (struct watched){process, ends[1]};
        pthread_t thread;
        pthread_attr_t attributes;
        sigset_t all, former;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, 128 * 1024);
        // Signals are for the threads that expect them.
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &former);
        error = pthread_create(&thread, &attributes, watch_process, watched);
        pthread_sigmask(SIG_SETMASK, &former, NULL);
        pthread_attr_destroy(&attributes);
        if (error == 0) return ends[0];
        free(watched);
    }
    close(ends[0]);
    close(ends[1]);
    errno = error;
    return -1;
}

int hardening_open_process(pid_t process) {
    // Close-on-exec by definition.
    int opened = (int)syscall(SYS_pidfd_open, process, 0);
    // Linux before 5.3, or a container's filter that is older than the call.
    if (opened >= 0 || (errno != ENOSYS && errno != EPERM)) return opened;
    return open_process_watch(process);
}

int hardening_spawn(const char *executable, char *const arguments[], char *const environment[],
                    const int *descriptors, int count, const char *directory, int new_session, pid_t *child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);

    // A service's user may have a home directory that does not exist.
    if (directory) posix_spawn_file_actions_addchdir_np(&actions, access(directory, X_OK) == 0 ? directory : "/");
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
