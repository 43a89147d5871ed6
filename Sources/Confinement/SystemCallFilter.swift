// SPDX-License-Identifier: MIT

import CSeccomp
import Glibc

/// Refuses system calls the agent has no use for, in every thread, for good (seccomp).
///
/// A list of what is refused, not of what is allowed: a new version of a library may well need a new call for its
/// ordinary work, and then an agent with a list of allowed calls would lose sessions.
package enum SystemCallFilter {
    /// Refused with EPERM, whatever the arguments.
    package static let refused: [String] =
        processes + namespaces + kernel + mounts + keys + otherDoors

    /// Running programs, and looking into other processes.
    private static let processes = [
        "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
        "process_madvise", "pidfd_getfd", "kcmp", "perf_event_open", "userfaultfd", "personality",
    ]
    private static let namespaces = [
        "unshare", "setns", "pivot_root", "chroot", "sethostname", "setdomainname",
    ]
    /// The kernel itself and its clock.
    private static let kernel = [
        "bpf", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
        "swapon", "swapoff", "syslog", "iopl", "ioperm", "modify_ldt", "settimeofday", "clock_settime",
        "clock_adjtime", "adjtimex", "acct", "quotactl", "quotactl_fd", "nfsservctl", "lookup_dcookie",
        "vhangup",
    ]
    private static let mounts = [
        "mount", "umount", "umount2", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
        "mount_setattr",
    ]
    private static let keys = ["keyctl", "add_key", "request_key"]
    /// Ways around file rules and around this filter.
    private static let otherDoors = [
        "name_to_handle_at", "open_by_handle_at", "fanotify_init", "io_uring_setup", "io_uring_enter",
        "io_uring_register",
    ]

    /// Flags of `clone` that begin a namespace.
    private static let namespaceFlags: [UInt64] = [
        0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000,
    ]
    /// `CLONE_THREAD`: a `clone` without it begins a process.
    private static let threadFlag: UInt64 = 0x0001_0000
    /// `TIOCSTI` and `TIOCLINUX`: typing into the person's terminal.
    private static let typing: [UInt64] = [0x5412, 0x541C]

    static func install() throws(ConfinementGap) {
        guard let filter = unsafe seccomp_init(seccomp_action_allow) else {
            throw ConfinementGap(code: ENOMEM)
        }
        defer { unsafe seccomp_release(filter) }
        for name in refused { try unsafe refuse(name, filter) }
        for flag in namespaceFlags {
            try unsafe refuse("clone", filter, where: 0, masked: flag, equals: flag)
        }
        try unsafe refuse("clone", filter, where: 0, masked: threadFlag, equals: 0)
        for request in typing {
            try unsafe refuse("ioctl", filter, where: 1, masked: UInt64(UInt32.max), equals: request)
        }
        // Its flags lie in memory, out of a filter's sight; the C library then uses clone.
        try unsafe refuse("clone3", filter, with: seccomp_action_unknown)
        try check(unsafe seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1))
        try check(unsafe seccomp_load(filter))
    }

    /// Refuses the call `name`, if the machine has it; with a condition, only where an argument has these bits.
    private static func refuse(
        _ name: String,
        _ filter: scmp_filter_ctx,
        with action: UInt32 = seccomp_action_refuse,
        where argument: UInt32? = nil,
        masked mask: UInt64 = 0,
        equals value: UInt64 = 0
    ) throws(ConfinementGap) {
        let number = unsafe seccomp_syscall_resolve_name(name)
        // Negative: a call of other machines.
        guard number != seccomp_no_such_call, number >= 0 else { return }
        guard let argument else {
            return try check(unsafe seccomp_rule_add_array(filter, action, number, 0, nil))
        }
        let condition = scmp_arg_cmp(arg: argument, op: SCMP_CMP_MASKED_EQ, datum_a: mask, datum_b: value)
        try check(unsafe seccomp_rule_add_array(filter, action, number, 1, [condition]))
    }

    /// libseccomp answers with negative error numbers.
    private static func check(_ result: Int32) throws(ConfinementGap) {
        guard result == 0 else { throw ConfinementGap(code: -result) }
    }
}

extension ConfinementGap {
    fileprivate init(code: Int32) {
        self.init(protection: .systemCalls, reason: unsafe String(cString: strerror(code)))
    }
}
