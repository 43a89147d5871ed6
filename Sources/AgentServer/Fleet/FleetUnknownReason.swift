// SPDX-License-Identifier: MIT

import TokenCore

/// The reason this host cannot tell yet whether a session is logged in, or what its tokens are.
enum FleetUnknownReason {
    /// etcd is being read.
    case awaited
    case troubled(FleetStoreError)
    /// No host refreshes the session before this wait ends.
    case waiting(FleetWait)

    /// The reason as a sentence without a full stop.
    var sentence: String {
        switch self {
        case .awaited: "the fleet has not answered yet"
        case .troubled(let trouble): trouble.sentence
        case .waiting(let wait): "no host refreshes it now, for \(wait.reason)"
        }
    }

    var remedy: String? {
        if case .troubled(let trouble) = self { trouble.remedy } else { nil }
    }

    /// Whether only the user can correct the cause.
    var isMistake: Bool {
        if case .troubled(let trouble) = self { trouble.isMistake } else { false }
    }

    /// The delay after which a retry may succeed, or `nil` if it is unknown.
    var retryAfter: Duration? {
        switch self {
        case .awaited: .seconds(1)
        case .troubled: isMistake ? nil : .seconds(10)
        case .waiting(let wait): max(.seconds(1), wait.time)
        }
    }
}

extension FleetWait {
    /// Creates the wait that keeps all hosts from sending the refresh token of `session`, or `nil` if none is
    /// known.
    init?(of session: SharedSession, in agent: isolated SessionAgent) {
        guard let port = agent.ports.fleet, let view = session.record.sight?.view,
            let wait = view.wait(
                at: port.host,
                until: session.expiry(in: agent),
                session.member.timing,
                now: agent.now
            )
        else { return nil }
        self = wait
    }
}
