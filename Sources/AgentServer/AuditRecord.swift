// SPDX-License-Identifier: MIT

import StrictJSON
import TokenCore

/// One token that was given out, or that was not because of who asked: a line of the audit log, never with a token.
struct AuditRecord: Equatable, Sendable {
    /// How a request ended, spelled as in the log.
    enum Decision: String, Sendable {
        case served
        /// A person did not confirm it.
        case denied
        /// The session's rules, or those of the socket, do not show the session to this peer.
        case hidden
    }

    var time: WallTime
    var session: SessionName
    var decision: Decision
    var peer: Peer
    var facts: PeerFacts?
    /// The path of the `[[socket]]` it was asked at; `nil`: the agent's own.
    var socket: String?
    /// An ID token rather than an access token.
    var isIDToken = false

    /// Appends the line with its end, written by hand because there may be thousands in a second.
    func write(to text: inout [UInt8]) {
        text += "{\"time\":\(time.secondsSince1970),\"session\":\"\(session)\"".utf8
        text += ",\"decision\":\"\(decision.rawValue)\",\"kind\":\"\(isIDToken ? "id" : "access")\"".utf8
        text += ",\"pid\":\(peer.processID),\"uid\":\(peer.userID)".utf8
        AuditRecord.write("exe", facts?.programs.first?.executable, to: &text)
        AuditRecord.write("unit", facts?.unit, to: &text)
        AuditRecord.write("socket", socket, to: &text)
        text += "}\n".utf8
    }

    private static func write(_ name: StaticString, _ value: String?, to text: inout [UInt8]) {
        guard let value else { return }
        text += ",\"\(name)\":".utf8
        text += JSONValue.string(ServerText.cleaned(value)).serialized
    }
}
