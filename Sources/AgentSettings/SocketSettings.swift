// SPDX-License-Identifier: MIT

import TokenCore

/// One `[[socket]]`: a further socket that gives out tokens of some sessions and does nothing else.
package struct SocketSettings: Equatable, Sendable {
    /// Absolute.
    package var path: String
    package var sessions: [SessionName]
    /// Permission bits of the socket's file.
    package var mode: UInt32
    /// The group of the socket's file, as a number.
    package var group: UInt32?
    /// Users beside our own who may connect, as numbers.
    package var users: [UInt32]
}
