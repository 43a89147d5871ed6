// SPDX-License-Identifier: MIT

/// A scripted failure of one response.
///
/// The issuer may have processed the request (`isProcessed`) although the response says otherwise or never
/// arrives. That is how a rotated refresh token gets lost.
package struct Disturbance: Sendable {
    /// The way the response ends on the wire.
    package enum Ending: Equatable, Sendable {
        case complete
        /// Nothing is sent.
        ///
        /// The connection stays open until the client closes it.
        case hang
        /// The connection is closed in order after this many bytes.
        case finish(afterBytes: Int)
        /// The connection is reset after this many bytes.
        case reset(afterBytes: Int)
        /// The response is sent at this rate.
        case drip(bytesPerSecond: Int)
    }

    /// The response sent instead of the issuer's own, or `nil` for the issuer's own.
    package var reply: IssuerResponse?
    /// Whether the issuer processes the request, and possibly rotates, even if ``reply`` replaces the
    /// response.
    package var isProcessed: Bool
    /// The delay before the request is processed.
    package var delayBefore: Duration
    /// The delay between processing and the response.
    package var delay: Duration
    /// Whether the response waits until ``DemoIssuer/release()``.
    package var isHeld: Bool
    package var ending: Ending
    /// The grant type to which the disturbance is limited, or `nil` for any request.
    package var grantType: String?

    package init(
        reply: IssuerResponse? = nil,
        isProcessed: Bool? = nil,
        delayBefore: Duration = .zero,
        delay: Duration = .zero,
        isHeld: Bool = false,
        ending: Ending = .complete,
        grantType: String? = nil
    ) {
        self.reply = reply
        self.isProcessed = isProcessed ?? (reply == nil)
        self.delayBefore = delayBefore
        self.delay = delay
        self.isHeld = isHeld
        self.ending = ending
        self.grantType = grantType
    }

    /// No disturbance: the issuer's own response, at once and complete.
    static let none = Disturbance()

    func applies(to request: IssuerRequest) -> Bool {
        grantType == nil || grantType == request.form["grant_type"]
    }
}
