// SPDX-License-Identifier: MIT

/// Why a recorded answer is of no use.
enum UnusableRecordingError: Error, Equatable, CustomStringConvertible {
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
        case .incomplete: "incomplete"
        case .otherServer(let url): "the response is from \(url)"
        case .unknownCipher(let suite): "TLS cipher \(suite) is not supported in recordings"
        case .forged: "changed or damaged"
        case .unreadable: "unreadable"
        case .notHTTP: "the response is not HTTP"
        }
    }
}
