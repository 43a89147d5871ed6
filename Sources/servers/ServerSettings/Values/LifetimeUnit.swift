// SPDX-License-Identifier: MIT

/// The unit of lifetimes, spelled as in the configuration.
package enum LifetimeUnit: String, CaseIterable, Sendable {
    case seconds = "s"
    case milliseconds = "ms"

    /// The number of units in a second.
    package var perSecond: Double {
        switch self {
        case .seconds: 1
        case .milliseconds: 1_000
        }
    }
}
