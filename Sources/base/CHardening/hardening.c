// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

int hardening_refuse_inspection(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) return -1;
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int hardening_refuse_new_privileges(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int hardening_drop_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    // Kernels without ambient capabilities have none to clear.
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return (int)syscall(SYS_capset, &header, none);
}

int hardening_refuse_writable_code(void) {
    return prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0);
}

void hardening_restore_crash_signals(void) {
    static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGQUIT, SIGSYS};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        sigemptyset(&action.sa_mask);
        sigaction(crashes[i], &action, NULL);
    }
}

int hardening_fill_standard_descriptors(void) {
    for (int wanted = 0; wanted <= 2; wanted++) {
        if (fcntl(wanted, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free descriptor is the wanted one: all below it are open by now.
        if (open("/dev/null", O_RDWR) != wanted) return -1;
    }
    return 0;
}

int hardening_has_borrowed_privileges(void) {
    return getauxval(AT_SECURE) != 0 || geteuid() != getuid() || getegid() != getgid();
}

int hardening_signal_when_parent_ends(int signal) {
    return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0);
}
