// SPDX-License-Identifier: MIT

/// The kind of a frame to the runner process: the first byte of its payload.
package enum RunnerFrameKind: UInt8, Sendable {
    /// A ``CommandRequest``.
    case run = 1
    /// A ``ProcessQuery``.
    case examine = 2
    /// The bytes of a ``CommandTable``, sent once as the first frame.
    case table = 3
    /// A number (8 bytes): read the table of commands again and reply with its digest.
    case load = 4
}
