// SPDX-License-Identifier: MIT

/// The back ends known by name, spelled as in the configuration.
package enum JSONPreset: String, CaseIterable, Sendable {
    case signaling
    case ecall

    /// The paths of the endpoints, each of which begins with `/`.
    package struct Paths: Equatable, Sendable {
        package var login: String
        package var refresh: String
        package var logout: String
    }

    package var rules: JSONRules {
        switch self {
        case .signaling: .signaling
        case .ecall: .ecall
        }
    }

    package var paths: Paths {
        switch self {
        case .signaling: Paths(login: "/auth/login", refresh: "/auth/refresh", logout: "/auth/logout")
        case .ecall:
            Paths(login: "/app/api/login", refresh: "/app/api/refresh-token", logout: "/app/api/logout")
        }
    }
}
