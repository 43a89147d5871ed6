// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// What one host alone has of a session, so that it cannot leave before etcd has it.
enum FleetDebt {
    /// The answer to a refresh: without it the others have a refresh token that is spent.
    case answer
    /// The same, and a reader cannot give it to etcd.
    case withheldAnswer
    /// The others are still logged in.
    case logout
}

extension RequestFailure {
    /// This host cannot give up a session yet.
    init(_ debt: FleetDebt, _ trouble: FleetTrouble?, of name: SessionName) {
        let what =
            switch debt {
            case .answer, .withheldAnswer: "the newest tokens of \(name)"
            case .logout: "the logout of \(name)"
            }
        let reason = trouble.map { ": \($0.advice)" } ?? ""
        self.init(
            code: .temporarilyUnavailable,
            message: "This host alone has \(what), which etcd lacks\(reason)",
            session: name,
            remedy: debt == .withheldAnswer
                ? "make this host a keeper again until etcd has them"
                : "wait until etcd has that, see tokenctl fleet status",
            retryAfter: .seconds(10)
        )
    }
}
