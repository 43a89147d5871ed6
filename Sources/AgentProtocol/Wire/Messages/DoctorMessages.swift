// SPDX-License-Identifier: MIT

import Text

/// The answer of `GET /v1/doctor`.
package typealias DoctorMessage = WireMessage<DoctorMembers>

package struct DoctorMembers: WireMembers {
    package let checks = WireMember<[CheckMessage]>("checks")

    package static let table = Self()
}

/// What one check found.
package typealias CheckMessage = WireMessage<CheckMembers>

package struct CheckMembers: WireMembers {
    package let name = WireMember<String>("name")
    package let verdict = WireMember<CheckVerdict>("ok")
    package let detail = WireMember<String>("detail")
    package let remedy = WireMember<String>("remedy", isOptional: true)

    package static let table = Self()
}

/// Whether a check passed: on the socket `true`, `"warning"` or `false`.
package enum CheckVerdict: String, WireValue {
    case ok
    case warning
    case problem

    package static var wireType: String { Bool.wireType }
    package static var expectation: String { "true, false or \"warning\"" }

    /// Anything but `true` and a string counts as a problem.
    package init?(_ json: JSONValue) {
        switch json {
        case .bool(true): self = .ok
        case .string: self = .warning
        default: self = .problem
        }
    }

    package var json: JSONValue { self == .warning ? .string(rawValue) : .bool(self == .ok) }
}
