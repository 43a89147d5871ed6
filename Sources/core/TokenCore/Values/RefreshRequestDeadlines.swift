// SPDX-License-Identifier: MIT

/// The deadlines of a token request, enforced even if the agent or the machine stops.
package struct RefreshRequestDeadlines: Equatable, Sendable {
    /// The moment before which the request must begin.
    ///
    /// Another host of the fleet may send from then on.
    package var sendBefore: Instant
    /// The moment at which the connection is reset, unless the other end has acknowledged the whole request.
    ///
    /// No part of the request arrives later.
    package var arriveBefore: Instant
    /// The moment at which the connection is reset in any case, with or without a response.
    package var endBefore: Instant

    /// Deadlines that allow no sending.
    ///
    /// Only a recorded response to an earlier request can be returned.
    package static let recorded = RefreshRequestDeadlines(
        sendBefore: Instant(nanoseconds: .min),
        arriveBefore: Instant(nanoseconds: .min),
        endBefore: Instant(nanoseconds: .min)
    )

    package init(sendBefore: Instant, arriveBefore: Instant, endBefore: Instant) {
        self.sendBefore = sendBefore
        self.arriveBefore = arriveBefore
        self.endBefore = endBefore
    }
}
