// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CHardening.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE AUDIT_ARCH_RISCV64
#else
#define MACHINE 0
#endif

const uint32_t hardening_machine = MACHINE;

// Calls that are newer than the headers of some C libraries: from 424 on all machines have the same numbers.
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_removexattrat
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

#define CALL(name) {#name, SYS_##name}

// First the calls that every machine has, then those that only some have: the C library's headers tell which.
static const struct {
    const char *name;
    int number;
} calls[] = {
    CALL(acct), CALL(add_key), CALL(adjtimex), CALL(bpf), CALL(chroot), CALL(clock_adjtime), CALL(clock_settime),
    CALL(clone), CALL(clone3), CALL(delete_module), CALL(execve), CALL(execveat), CALL(fanotify_init),
    CALL(fchmodat), CALL(fchmodat2), CALL(fchown), CALL(fchownat), CALL(file_setattr), CALL(finit_module),
    CALL(fremovexattr), CALL(fsetxattr), CALL(lremovexattr), CALL(lsetxattr), CALL(removexattr), CALL(removexattrat),
    CALL(setxattr), CALL(setxattrat), CALL(utimensat),
    CALL(fsconfig), CALL(fsmount), CALL(fsopen), CALL(fspick), CALL(init_module), CALL(ioctl),
    CALL(io_uring_enter), CALL(io_uring_register), CALL(io_uring_setup), CALL(kcmp), CALL(kexec_load), CALL(keyctl),
    CALL(mount), CALL(mount_setattr), CALL(move_mount), CALL(name_to_handle_at), CALL(open_by_handle_at),
    CALL(open_tree), CALL(perf_event_open), CALL(personality), CALL(pidfd_getfd), CALL(pivot_root), CALL(prctl),
    CALL(process_madvise), CALL(process_vm_readv), CALL(process_vm_writev), CALL(ptrace), CALL(quotactl),
    CALL(quotactl_fd), CALL(reboot), CALL(request_key), CALL(setdomainname), CALL(sethostname), CALL(setns),
    CALL(settimeofday), CALL(socket), CALL(socketpair), CALL(swapoff), CALL(swapon), CALL(syslog), CALL(umount2),
    CALL(unshare), CALL(userfaultfd), CALL(vhangup),
#ifdef SYS_chmod
    CALL(chmod),
#endif
#ifdef SYS_chown
    CALL(chown),
#endif
#ifdef SYS_futimesat
    CALL(futimesat),
#endif
#ifdef SYS_lchown
    CALL(lchown),
#endif
#ifdef SYS_utime
    CALL(utime),
#endif
#ifdef SYS_utimes
    CALL(utimes),
#endif
#ifdef SYS_fork
    CALL(fork),
#endif
#ifdef SYS_ioperm
    CALL(ioperm),
#endif
#ifdef SYS_iopl
    CALL(iopl),
#endif
#ifdef SYS_kexec_file_load
    CALL(kexec_file_load),
#endif
#ifdef SYS_lookup_dcookie
    CALL(lookup_dcookie),
#endif
#ifdef SYS_modify_ldt
    CALL(modify_ldt),
#endif
#ifdef SYS_nfsservctl
    CALL(nfsservctl),
#endif
#ifdef SYS_vfork
    CALL(vfork),
#endif
};

int hardening_system_call(const char *name) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) == 0) return calls[i].number;
    }
    return -1;
}

int hardening_filter_system_calls(const struct sock_filter *steps, unsigned short count) {
    struct sock_fprog program = {.len = count, .filter = (struct sock_filter *)steps};
    // All threads or none: if one cannot take the filter, the result is its number and not an error.
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    return result == 0 ? 0 : -1;
}
