// SPDX-License-Identifier: MIT

/// What goes wrong with one answer: the script of a fault.
///
/// The issuer may have done its work (`isProcessed`) although the answer says otherwise or never arrives:
/// that is how a rotated refresh token gets lost.
package struct Disturbance: Sendable {
    /// How the answer ends on the wire.
    package enum Ending: Equatable, Sendable {
        case complete
        /// Nothing is sent; the connection stays open until the other side leaves.
        case hang
        /// The connection closes in order after this many bytes.
        case finish(afterBytes: Int)
        /// The connection is reset after this many bytes.
        case reset(afterBytes: Int)
        /// The answer comes at this pace.
        case drip(bytesPerSecond: Int)
    }

    /// Sent in place of the issuer's own answer; `nil`: the issuer's own.
    package var reply: IssuerResponse?
    /// Whether the issuer does what was asked (and so perhaps rotates) even when ``reply`` replaces the answer.
    package var isProcessed: Bool
    /// Waits this long before it does anything.
    package var delayBefore: Duration
    /// Waits this long between its work and the answer.
    package var delay: Duration
    /// The answer waits until ``DemoIssuer/release()``.
    package var isHeld: Bool
    package var ending: Ending
    /// Only a request whose form says `grant_type=…` takes this one.
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

    /// The issuer's own answer, at once and whole.
    static let none = Disturbance()

    func applies(to request: IssuerRequest) -> Bool {
        grantType == nil || grantType == request.form["grant_type"]
    }
}
