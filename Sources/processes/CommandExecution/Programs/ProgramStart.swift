// SPDX-License-Identifier: MIT

import CHardening
import Glibc

/// The parameters for starting a program as a child process, which inherits nothing that is not named here.
package struct ProgramStart: Sendable {
    /// The position of the child relative to the terminal and the signals of this process.
    package enum GroupOrSession: Sendable {
        /// A new process group: it gets no signals from the terminal, and it can be killed with its children.
        case ownGroup
        /// A new session without a terminal.
        case ownSession
    }

    /// The path of the program, or a name that is looked up in `PATH`.
    package var executable: String
    /// All arguments, beginning with the program's own name.
    package var arguments: [String]
    package var environment: [String: String]
    /// The descriptors of the child, each with the descriptor of this process that it copies.
    ///
    /// Missing ones up to the highest, and at least up to 2, become `/dev/null`; all others are closed.
    package var descriptors: [Int32: Int32]
    package var placement: GroupOrSession
    /// The working directory, or `nil` for that of this process.
    package var directory: String?

    package init(
        executable: String,
        arguments: [String],
        environment: [String: String],
        descriptors: [Int32: Int32] = [:],
        placement: GroupOrSession,
        directory: String? = nil
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.descriptors = descriptors
        self.placement = placement
        self.directory = directory
    }

    /// Starts the program and returns its process ID.
    ///
    /// - Throws: ``ProgramFailure`` if the program cannot be executed.
    package func start() throws(ProgramFailure) -> pid_t {
        let highest = max(2, descriptors.keys.max() ?? 2)
        let table = (0...highest).map { descriptors[$0] ?? -1 }
        var child: pid_t = 0
        let entries = environment.map { "\($0.key)=\($0.value)" }
        let error = unsafe withCStrings(arguments) { arguments in
            unsafe withCStrings(entries) { entries in
                unsafe hardening_spawn(
                    executable,
                    arguments,
                    entries,
                    table,
                    Int32(table.count),
                    directory,
                    placement == .ownSession ? 1 : 0,
                    &child
                )
            }
        }
        guard error == 0 else {
            throw ProgramFailure(
                message: "cannot run \(executable): \(unsafe String(cString: strerror(error)))"
            )
        }
        return child
    }
}

/// Calls `body` with `texts` as a NULL-terminated array of C strings.
private func withCStrings<Result>(
    _ texts: [String],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    var pointers = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { for index in unsafe pointers.indices { unsafe free(pointers[index]) } }
    return unsafe pointers.withUnsafeMutableBufferPointer { buffer in
        var empty: UnsafeMutablePointer<CChar>? = nil
        return unsafe withUnsafeMutablePointer(to: &empty) { unsafe body(buffer.baseAddress ?? $0) }
    }
}
