// SPDX-License-Identifier: MIT

/// The failure of a command, or to run it to its end.
package struct CommandFailure: Error, Equatable, Sendable {
    /// A message for the user that names the command and the error, never the command's output.
    package var message: String
    /// Whether the program reports a wrong password or PIN (``StandardErrorLine/rejectsCredential``).
    package var rejectsCredential: Bool

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - message: the command and the error.
    ///   - complaint: the program's own message, which is appended.
    package init(message: String, complaint: StandardErrorLine? = nil) {
        self.message = message + (complaint.map { ": \($0)" } ?? "")
        rejectsCredential = complaint?.rejectsCredential ?? false
    }
}
