// SPDX-License-Identifier: MIT

/// Why a recorded answer is of no use.
enum RecordingError: Error, Equatable, CustomStringConvertible {
    /// The server's answer had not come to its end when the connection broke.
    case incomplete
    /// The configuration names another server now.
    case otherServer(String)
    /// TLS with a cipher that is not opened later.
    case unknownCipher(UInt16)
    /// Bytes that the server did not send.
    case forged
    case unreadable
    case notHTTP

    /// Whether somebody has changed the file, or the disk has.
    var isDamage: Bool { self == .forged || self == .unreadable }

    var description: String {
        switch self {
        case .incomplete: "it is not complete"
        case .otherServer(let url): "it is the answer of \(url)"
        case .unknownCipher(let suite): "it is sealed with TLS cipher \(suite), which is only opened at once"
        case .forged: "it was changed or damaged"
        case .unreadable: "it makes no sense"
        case .notHTTP: "what the server sent is not HTTP"
        }
    }
}
