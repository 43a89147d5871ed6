// SPDX-License-Identifier: MIT

/// The program could not be run to its end.
package struct ProgramFailure: Error, Equatable, Sendable {
    /// For a person: names the program and what went wrong, never its output.
    package var message: String

    package init(message: String) {
        self.message = message
    }
}
