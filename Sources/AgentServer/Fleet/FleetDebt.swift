// SPDX-License-Identifier: MIT

import AgentProtocol
import TokenCore

/// What one host alone has of a session, so that it cannot leave before etcd has it.
enum FleetDebt {
    /// The answer to a refresh: without it the others have a refresh token that is spent.
    case answer
    /// The others are still logged in.
    case logout
}

extension RequestFailure {
    /// This host cannot give up a session yet.
    init(_ debt: FleetDebt, _ trouble: FleetTrouble?, of name: SessionName) {
        let what =
            switch debt {
            case .answer: "the newest tokens of \(name)"
            case .logout: "the logout of \(name)"
            }
        let reason = trouble.map { ": \($0.advice)" } ?? ""
        self.init(
            code: .temporarilyUnavailable,
            message: "This host alone has \(what), and etcd does not have them yet\(reason)",
            session: name,
            remedy: "tokenctl fleet status shows when it has; then try again",
            retryAfter: .seconds(10)
        )
    }
}
