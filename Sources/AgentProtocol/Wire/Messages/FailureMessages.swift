// SPDX-License-Identifier: MIT

import Text

extension FailureCode: WireValue {}

/// An error.
package typealias FailureMessage = WireMessage<FailureMembers>

package struct FailureMembers: RemedyMembers {
    package let code = WireMember<FailureCode>("code")
    package let message = WireMember<String>("message")
    package let session = WireMember<String>("session", isOptional: true)
    package let remedyText = WireMember<String>("remedy", isOptional: true)
    package let remedyKind = WireMember<Remedy.Kind>("remedy_kind", isOptional: true)
    package let retryAfter = WireMember<Int64>("retry_after", .seconds, isOptional: true)

    package static let table = Self()
}

/// A response whose status is not a success.
package typealias ErrorResponseMessage = WireMessage<ErrorResponseMembers>

package struct ErrorResponseMembers: WireMemberTable {
    package let error = WireMember<FailureMessage>("error")

    package static let table = Self()
}
