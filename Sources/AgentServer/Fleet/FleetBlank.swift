// SPDX-License-Identifier: MIT

import TokenCore

/// Why nobody here can say yet whether somebody has logged in to a session.
enum FleetBlank {
    /// The fleet is being asked.
    case awaited
    case troubled(FleetTrouble)

    /// Without a full stop.
    var sentence: String {
        switch self {
        case .awaited: "the fleet has not answered yet"
        case .troubled(let trouble): trouble.sentence
        }
    }

    var remedy: String? {
        if case .troubled(let trouble) = self { trouble.remedy } else { nil }
    }

    /// When it may be known.
    var retryAfter: Duration {
        if case .awaited = self { .seconds(1) } else { .seconds(10) }
    }
}
