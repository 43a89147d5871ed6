// SPDX-License-Identifier: MIT

import Glibc
import Text

/// The kernel's information about one process (proc(5)).
///
/// The directory stays that of the process it was opened for. After the process has exited everything reads
/// as absent, even if another process has its number by then.
package struct ProcessDirectory: ~Copyable {
    /// The fields of `stat` that are used here.
    struct Status: Equatable {
        /// The name that the process gave itself.
        var name: String
        var parent: pid_t
        /// The start time in clock ticks since boot.
        var startTicks: Int64
    }

    /// The path and identity of an executable.
    struct Executable: Equatable {
        var path: String
        var file: FileIdentity
    }

    private let descriptor: Int32

    /// Opens the directory, or returns `nil` if there is no such process.
    package init?(_ process: pid_t) {
        descriptor = unsafe open("/proc/\(process)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    var status: Status? { text("stat").flatMap(Status.init) }

    /// The systemd unit of the process's control group.
    package var unit: SystemdUnit? { text("cgroup").flatMap(SystemdUnit.init(inGroups:)) }

    /// The program of the process, or `nil` if this process may not read it.
    ///
    /// It is also `nil` if the path does not lead to the file that is running: the program was replaced
    /// since, or is in another mount namespace.
    var executable: Executable? {
        guard let path = link("exe"), let running = FileIdentity(at: "exe", in: descriptor),
            FileIdentity(at: path) == running
        else { return nil }
        return Executable(path: path, file: running)
    }

    /// The device and inode of the process's executable file, or `nil` if this process may not read them.
    var image: String? { FileIdentity(at: "exe", in: descriptor)?.file }

    /// Whether ``executable`` is unknown because the kernel denied access.
    var hidesExecutable: Bool { link("exe") == nil && errno == EACCES }

    /// Opens the executable for reading; the caller closes the descriptor.
    func openExecutable() -> Int32? {
        let file = unsafe openat(descriptor, "exe", O_RDONLY | O_CLOEXEC)
        return file >= 0 ? file : nil
    }

    private func link(_ name: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlinkat(descriptor, name, &target, target.count)
        guard count > 0, count < target.count else { return nil }
        return String(validating: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func text(_ name: String) -> String? {
        let file = unsafe openat(descriptor, name, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8_192)
        let count = unsafe read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}

extension ProcessDirectory.Status {
    /// Parses the text of `/proc/PID/stat`, in which the name may contain blanks and parentheses.
    init?(_ text: String) {
        guard let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")"), open < close else {
            return nil
        }
        let fields = text[text.index(after: close)...].split(separator: " ")
        guard fields.count > 19, let parent = pid_t(fields[1]), let ticks = Int64(fields[19]) else {
            return nil
        }
        self.init(name: String(text[text.index(after: open)..<close]), parent: parent, startTicks: ticks)
    }
}
