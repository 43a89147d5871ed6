// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// What is written down of a request: never a query, a field or a byte of a body.
struct AccessRecord: Sendable {
    /// Bytes of a path that are written.
    private static let longestPath = 256

    private let method: ArraySlice<UInt8>
    private let path: ArraySlice<UInt8>
    private let startedAt: NIODeadline
    /// 499 if the client left before the answer began.
    var status = 0
    /// Bytes of the bodies, of the client and for it.
    var received: Int64 = 0
    var sent: Int64 = 0
    /// Whether the request was sent again with another token.
    var isRepeated = false
    /// Whether the request broke a rule.
    private(set) var isRefused = false

    /// A request of which only the first line can be read.
    init(_ line: HTTPSyntax.RequestLine) {
        method = line.method.prefix(16)
        let path = line.target.prefix { $0 != UInt8(ascii: "?") }.prefix(AccessRecord.longestPath)
        // An address in place of a path may hold a password.
        self.path = path.first == UInt8(ascii: "/") ? path : [UInt8(ascii: "-")]
        startedAt = .now()
    }

    init(_ request: ProxiedRequest, startedAt: NIODeadline = .now()) {
        method = request.method.prefix(16)
        path = request.path.prefix(AccessRecord.longestPath)
        self.startedAt = startedAt
    }

    /// Whether the answer has no body.
    var isHead: Bool { method.spells("HEAD") }

    /// The request has got an answer from here.
    mutating func took(_ answer: LocalResponse) {
        status = answer.status
        sent = isHead ? 0 : Int64(answer.body.count)
    }

    /// The request breaks a rule, and got this answer.
    mutating func refused(with answer: LocalResponse) {
        took(answer)
        isRefused = true
    }

    /// The line of the access log, without the listener's name.
    ///
    /// - Parameter now: when the answer was complete.
    /// - Returns: visible characters and single blanks.
    func line(at now: NIODeadline) -> String {
        let milliseconds = (now - startedAt).nanoseconds / 1_000_000
        let (before, after) = (isRefused ? "refused " : "", isRepeated ? " repeated" : "")
        return
            "\(before)\(method.text) \(path.text) \(status) in=\(received) out=\(sent) ms=\(milliseconds)\(after)"
    }
}
