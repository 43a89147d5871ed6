// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// One line of the audit log; it never holds a token.
///
/// It tells that a token was given out, that one was refused because of who asked, or that something was done
/// to a session or to the agent.
struct AuditRecord: Equatable, Sendable {
    /// What the line is about.
    enum Subject: Equatable, Sendable {
        case accessToken
        case idToken
        case action(Action)
    }

    /// What somebody did other than ask for tokens, spelled as in the log.
    enum Action: String, CaseIterable, Sendable {
        case login
        case logout
        case lock
        case unlock
        case reload
        case shutdown
        case vaultInit = "vault_init"
        case slotAdd = "slot_add"
        case slotRemove = "slot_remove"
        case passphraseChange = "passphrase_change"
        case rekey
    }

    /// How it ended, spelled as in the log.
    enum Decision: String, Sendable {
        case served
        /// A person did not confirm it.
        case denied
        /// The session's rules, or those of the socket, do not show the session to this peer.
        case hidden
        /// An action that took place.
        case done
        /// An action that was refused or did not work.
        case failed
        /// A login that the person, another login or a logout ended.
        case cancelled
    }

    /// Who did it.
    enum Origin: Equatable, Sendable {
        /// - socket: The path of the `[[socket]]` it was asked at; `nil`: the agent's own.
        case peer(Peer, PeerFacts?, socket: String?)
        /// A signal; who sent it is not known.
        case signal
        /// The agent by itself; nobody asked.
        case agent
    }

    var time: WallTime
    /// `nil` if it is about the whole agent.
    var session: SessionName?
    var subject: Subject
    var decision: Decision
    var origin: Origin

    /// Appends the line with its line feed, written by hand because there may be thousands in a second.
    func write(to text: inout [UInt8]) {
        text += "{\"time\":\(time.secondsSince1970)".utf8
        if let session { text += ",\"session\":\"\(session)\"".utf8 }
        text += ",\"decision\":\"\(decision.rawValue)\"".utf8
        switch subject {
        case .accessToken: text += ",\"kind\":\"access\"".utf8
        case .idToken: text += ",\"kind\":\"id\"".utf8
        case .action(let action): text += ",\"action\":\"\(action.rawValue)\"".utf8
        }
        switch origin {
        case .peer(let peer, let facts, let socket):
            text += ",\"pid\":\(peer.processID),\"uid\":\(peer.userID)".utf8
            AuditRecord.write("exe", facts?.programs.first?.executable, to: &text)
            AuditRecord.write("unit", facts?.unit, to: &text)
            AuditRecord.write("socket", socket, to: &text)
        case .signal: text += ",\"by\":\"signal\"".utf8
        case .agent: text += ",\"by\":\"agent\"".utf8
        }
        text += "}\n".utf8
    }

    private static func write(_ name: StaticString, _ value: String?, to text: inout [UInt8]) {
        guard let value else { return }
        text += ",\"\(name)\":".utf8
        text += JSONValue.string(ServerText.cleaned(value)).serialized
    }
}

extension AuditRecord.Origin {
    /// Who is at the other end of `connection`.
    init(_ connection: Connection) {
        let caller = connection.caller
        self = .peer(caller.peer, caller.witness.facts, socket: caller.restrictedPath)
    }
}
