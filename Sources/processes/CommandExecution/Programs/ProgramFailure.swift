// SPDX-License-Identifier: MIT

/// A failure to run a program to its end.
package struct ProgramFailure: Error, Equatable, Sendable {
    /// The message for the user: the program and the cause, never its output.
    package var message: String
}
