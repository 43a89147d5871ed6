// SPDX-License-Identifier: MIT

import Glibc

/// What the kernel tells about one process (proc(5)).
///
/// The directory stays that of the process it was opened for: once the process is gone everything reads as
/// absent, even if another process has its number by then.
struct ProcessDirectory: ~Copyable {
    /// The fields of `stat` that matter here.
    struct Status: Equatable {
        /// What the process calls itself.
        var name: String
        var parent: pid_t
        /// Clock ticks since boot.
        var startTicks: Int64
    }

    /// Path and identity of an executable.
    struct Executable: Equatable {
        var path: String
        var file: FileIdentity
    }

    private let descriptor: Int32

    init?(_ process: pid_t) {
        descriptor = unsafe open("/proc/\(process)", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    var status: Status? { text("stat").flatMap(Status.init) }

    /// The unit of the process's control group.
    var unit: String? { text("cgroup").flatMap(SystemdUnit.name(inGroups:)) }

    /// The program that runs, if this process may look at it.
    ///
    /// `nil` too if the path does not lead to the very file that runs: the program was replaced since, or
    /// lives in another mount namespace.
    var executable: Executable? {
        guard let path = link("exe"), let running = FileIdentity(at: "exe", in: descriptor),
            FileIdentity(at: path) == running
        else { return nil }
        return Executable(path: path, file: running)
    }

    /// Which file runs, wherever it lies and even without a path, if this process may look at it.
    var image: String? { FileIdentity(at: "exe", in: descriptor)?.file }

    /// Whether ``executable`` is unknown because looking was refused.
    var hidesExecutable: Bool { link("exe") == nil && errno == EACCES }

    /// Opens the executable for reading; the caller closes it.
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
    /// Reads `/proc/PID/stat`; the name may hold blanks and parentheses.
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
