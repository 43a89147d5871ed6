// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// A seccomp filter that denies the system calls the agent does not use, in every thread, permanently.
///
/// The filter lists denied calls, not allowed ones. A new library version may use a new call for its ordinary
/// work, and an agent with a list of allowed calls would then lose sessions. Socket families are the
/// exception: their reach is known, and a library that is denied one continues without it.
package enum SystemCallFilter {
    /// The calls denied with EPERM, whatever their arguments.
    package static let refused: [String] =
        processes + namespaces + kernel + mounts + keys + attributes + otherDoors

    /// Calls that run programs or inspect other processes.
    private static let processes = [
        "execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
        "process_madvise", "pidfd_getfd", "kcmp", "perf_event_open", "userfaultfd", "personality",
    ]
    private static let namespaces = [
        "unshare", "setns", "pivot_root", "chroot", "sethostname", "setdomainname",
    ]
    /// Calls that change the kernel or its clock.
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
    /// Calls that change modes, owners, times and other attributes of files, which Landlock does not cover.
    ///
    /// Still allowed: setting a mode when a file is created, the mode of an open file, and the group of a
    /// path (``groupChanges``).
    private static let attributes = [
        "chmod", "fchmodat", "fchmodat2", "fchown", "setxattr", "lsetxattr", "fsetxattr", "setxattrat",
        "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr", "utime", "utimes",
        "futimesat", "utimensat",
    ]
    /// Calls that change the owner of a path, with the index of the owner argument.
    ///
    /// The socket of a `[[socket]]` gets a group and keeps its owner.
    private static let groupChanges = [("chown", 1), ("lchown", 1), ("fchownat", 2)]
    /// Calls that bypass file rules or this filter.
    private static let otherDoors = [
        "name_to_handle_at", "open_by_handle_at", "fanotify_init", "io_uring_setup", "io_uring_enter",
        "io_uring_register",
    ]

    /// The flags of `clone` that create a namespace.
    private static let namespaceFlags: UInt32 = 0x7E02_0000
    /// `CLONE_THREAD`, without which `clone` creates a process.
    private static let threadFlag: UInt32 = 0x0001_0000
    /// `TIOCSTI` and `TIOCLINUX`, which type into the user's terminal.
    private static let typing: [UInt32] = [0x5412, 0x541C]
    /// `PR_SET_DUMPABLE` and `PR_SET_PTRACER`, which let other processes inspect this one.
    private static let exposing: [UInt32] = [4, 0x5961_6D61]
    /// `AF_UNIX`, `AF_INET`, `AF_INET6` and `AF_NETLINK`, the families used by the agent and name resolution.
    private static let families: [UInt32] = [1, 2, 10, 16]
    /// `NETLINK_ROUTE`, for addresses and routes.
    ///
    /// The other netlink protocols reach other parts of the kernel.
    private static let netlinkRoute: UInt32 = 0

    /// Returns the number of the call `name`, or `nil` if this machine does not have it.
    package static func number(of name: String) -> Int? {
        let number = unsafe hardening_system_call(name)
        return number < 0 ? nil : Int(number)
    }

    static func install() throws(ConfinementGap) {
        guard hardening_machine != 0 else { throw ConfinementGap(code: ENOSYS) }
        let steps = program.finished
        let result = unsafe hardening_filter_system_calls(steps, UInt16(steps.count))
        guard result == 0 else { throw ConfinementGap(code: errno) }
    }

    private static var program: FilterProgram {
        var program = FilterProgram(machine: hardening_machine)
        func refuse(_ name: String, with error: Int32 = EPERM, where tests: [ArgumentTest] = []) {
            guard let number = number(of: name) else { return }
            program.add(.refuse(error), to: UInt32(number), where: tests)
        }
        for name in refused { refuse(name) }
        for (call, owner) in groupChanges { refuse(call, where: [.isNone(owner, of: [.max])]) }
        refuse("clone", where: [.hasAny(0, bits: namespaceFlags)])
        refuse("clone", where: [.hasNone(0, bits: threadFlag)])
        // The flags of clone3 are in memory, where a filter cannot read them. After ENOSYS the C library uses
        // clone.
        refuse("clone3", with: ENOSYS)
        for request in typing { refuse("ioctl", where: [.equals(1, request)]) }
        for option in exposing { refuse("prctl", where: [.equals(0, option)]) }
        for call in ["socket", "socketpair"] {
            refuse(call, with: EAFNOSUPPORT, where: [.isNone(0, of: families)])
            refuse(call, with: EPROTONOSUPPORT, where: [.equals(0, 16), .isNone(2, of: [netlinkRoute])])
        }
        return program
    }
}

extension ConfinementGap {
    fileprivate init(code: Int32) {
        self.init(protection: .systemCalls, reason: unsafe String(cString: strerror(code)))
    }
}
