// SPDX-License-Identifier: MIT

/// The limits that the agent and the runner process share.
package enum CommandLimits {
    /// The maximum size of a frame in bytes: the largest output plus room for its header.
    package static let frame = 128 * 1024
    /// The maximum size of the standard output in bytes; a program that writes more fails.
    package static let output = 64 * 1024
    /// The number of bytes of standard error that are kept: more than the one line that is shown.
    package static let errors = 4 * 1024
    /// The maximum number of programs running at the same time; more wait.
    package static let concurrentCommands = 8
}
