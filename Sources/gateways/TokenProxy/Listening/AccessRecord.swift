// SPDX-License-Identifier: MIT

import NIOCore
import Text

/// The logged part of a request, which never includes a query, a field or a byte of a body.
struct AccessRecord: Sendable {
    /// The maximum length of a logged path, in bytes.
    private static let maximumPathLength = 256

    private let method: ArraySlice<UInt8>
    private let path: ArraySlice<UInt8>
    private let startedAt: NIODeadline
    /// The status of the response, or 499 if the client left before the response began.
    var status = 0
    /// The number of body bytes received from the client.
    var received: Int64 = 0
    var sent: Int64 = 0
    /// Whether the request was sent again with another token.
    var isRepeated = false
    /// Whether the request broke a rule.
    private(set) var isRefused = false

    /// Creates the record of a request of which only the first line is readable.
    init(_ line: HTTPSyntax.RequestLine) {
        method = line.method.prefix(16)
        let path = line.target.prefix { $0 != UInt8(ascii: "?") }.prefix(AccessRecord.maximumPathLength)
        // A URL in place of a path may contain a password.
        self.path = path.first == UInt8(ascii: "/") ? path : [UInt8(ascii: "-")]
        startedAt = .now()
    }

    init(_ request: ProxiedRequest, startedAt: NIODeadline = .now()) {
        method = request.method.prefix(16)
        path = request.path.prefix(AccessRecord.maximumPathLength)
        self.startedAt = startedAt
    }

    /// Whether the response has no body.
    var isHead: Bool { method.spells("HEAD") }

    /// Records a response of this program.
    mutating func took(_ answer: LocalResponse) {
        status = answer.status
        sent = isHead ? 0 : Int64(answer.body.count)
    }

    /// Records that the request broke a rule and got a response of this program.
    mutating func refused(with answer: LocalResponse) {
        took(answer)
        isRefused = true
    }

    /// Returns the line for the access log, without the listener's name.
    ///
    /// - Parameter now: the time at which the response was complete.
    /// - Returns: visible characters and single spaces.
    func line(at now: NIODeadline) -> String {
        let milliseconds = (now - startedAt).nanoseconds / 1_000_000
        let (before, after) = (isRefused ? "refused " : "", isRepeated ? " repeated" : "")
        return
            "\(before)\(method.text) \(path.text) \(status) in=\(received) out=\(sent) ms=\(milliseconds)\(after)"
    }
}
