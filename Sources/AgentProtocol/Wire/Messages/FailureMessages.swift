// SPDX-License-Identifier: MIT

extension FailureCode: WireValue {}

/// An error.
package typealias FailureMessage = WireMessage<FailureMembers>

package struct FailureMembers: WireMembers {
    package let code = WireMember<FailureCode>("code")
    package let message = WireMember<String>("message")
    package let session = WireMember<String>("session", isOptional: true)
    package let remedy = WireMember<String>("remedy", isOptional: true)
    package let retryAfter = WireMember<Int64>("retry_after", .seconds, isOptional: true)

    package static let table = Self()
}

/// A response whose status is not a success.
package typealias RefusalMessage = WireMessage<RefusalMembers>

package struct RefusalMembers: WireMembers {
    package let error = WireMember<FailureMessage>("error")

    package static let table = Self()
}
