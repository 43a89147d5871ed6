// SPDX-License-Identifier: MIT

import TokenCore

/// The query parameters of `GET /v1/audit`.
struct AuditQuery: Equatable {
    private(set) var session: SessionName?
    /// Whether the response continues with new lines as they are written.
    private(set) var follows = false

    init(_ text: Substring) throws(RequestFailure) {
        guard !text.isEmpty else { return }
        let complaint = RequestFailure(
            code: .badRequest,
            message: "invalid query (parameters: session=NAME, follow=1)"
        )
        guard let parameters = RequestTargetParser.parameters(of: text) else { throw complaint }
        for (name, value) in parameters {
            switch name {
            case "session":
                guard session == nil, !value.isEmpty else { throw complaint }
                session = try SessionName(asked: value)
            case "follow":
                guard value == "1" || value == "0" else { throw complaint }
                follows = value == "1"
            default: throw complaint
            }
        }
    }
}
