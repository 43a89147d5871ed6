// SPDX-License-Identifier: MIT

import Text

/// The response of `GET /v1/doctor`.
package typealias DoctorMessage = WireMessage<DoctorMembers>

package struct DoctorMembers: WireMemberTable {
    package let checks = WireMember<[CheckMessage]>("checks")

    package static let table = Self()
}

/// The finding of one check.
package typealias CheckMessage = WireMessage<CheckMembers>

package struct CheckMembers: RemedyMembers {
    package let name = WireMember<String>("name")
    package let verdict = WireMember<CheckVerdict>("ok")
    package let detail = WireMember<String>("detail")
    package let remedyText = WireMember<String>("remedy", isOptional: true)
    package let remedyKind = WireMember<Remedy.Kind>("remedy_kind", isOptional: true)

    package static let table = Self()
}

/// The verdict of a check: `true`, `"warning"` or `false` on the socket.
package enum CheckVerdict: String, WireValue {
    case ok
    case warning
    case problem

    package static var wireType: String { Bool.wireType }
    package static var expectation: String { "true, false or \"warning\"" }

    /// Creates a verdict, where anything but `true` and a string is a problem.
    package init?(_ json: JSONValue) {
        switch json {
        case .bool(true): self = .ok
        case .string: self = .warning
        default: self = .problem
        }
    }

    package var json: JSONValue { self == .warning ? .string(rawValue) : .bool(self == .ok) }
}
