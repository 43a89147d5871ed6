// SPDX-License-Identifier: MIT

import TokenCore

/// Why nobody here can say yet whether somebody has logged in to a session, or what its tokens are.
enum FleetUnknownReason {
    /// The fleet is being asked.
    case awaited
    case troubled(FleetStoreError)
    /// No host refreshes it before that.
    case waiting(FleetWait)

    /// Without a full stop.
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

    /// Only a person can put it right.
    var isMistake: Bool {
        if case .troubled(let trouble) = self { trouble.isMistake } else { false }
    }

    /// When it may be known; `nil`: nobody knows.
    var retryAfter: Duration? {
        switch self {
        case .awaited: .seconds(1)
        case .troubled: isMistake ? nil : .seconds(10)
        case .waiting(let wait): max(.seconds(1), wait.time)
        }
    }
}

extension FleetWait {
    /// What keeps everybody from sending the refresh token of `session`; `nil`: nothing that is known here.
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
