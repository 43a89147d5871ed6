// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A line of the audit log; it never contains a token.
///
/// It records that a token was served, that a token was denied because of the peer, or an action on a session
/// or on the agent.
struct AuditRecord: Equatable, Sendable {
    /// The subject of a line.
    enum AuditedOperation: Equatable, Sendable {
        case accessToken
        case idToken
        case action(Action)
    }

    /// The actions other than token requests, spelled as in the log.
    enum Action: String, CaseIterable, Sendable {
        case login
        case logout
        case clientSecret = "client_secret"
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

    /// The outcomes, spelled as in the log.
    enum AuditedOutcome: String, Sendable {
        case served
        /// The user did not confirm the request.
        case denied
        /// The session is hidden from this peer by its rules or by those of the socket.
        case hidden
        /// The action succeeded.
        case done
        /// The action was denied or failed.
        case failed
        /// The login was ended by the user, another login or a logout.
        case cancelled
    }

    var time: WallTime
    /// The session, or `nil` if the line is about the whole agent.
    var session: SessionName?
    /// The session that the tokens of `session` are made from.
    var source: SessionName?
    var subject: AuditedOperation
    var decision: AuditedOutcome
    var origin: RequestInitiator

    /// Appends the line with its line feed.
    ///
    /// It is assembled from prepared pieces, because there may be 100,000 lines in a second.
    func write(to text: inout [UInt8]) {
        text += Self.start
        text += time.secondsSince1970.description.utf8
        if let session {
            text += Self.session
            text += session.description.utf8
            text += Self.decisionAfterSession
        } else {
            text += Self.decision
        }
        text += decision.rawValue.utf8
        switch subject {
        case .accessToken: text += Self.accessToken
        case .idToken: text += Self.idToken
        case .action(let action):
            text += Self.action
            text += action.rawValue.utf8
            text.append(UInt8(ascii: "\""))
        }
        if let source {
            text += Self.source
            text += source.description.utf8
            text.append(UInt8(ascii: "\""))
        }
        text += origin.bytes
        text += Self.end
    }

    /// Returns `line` without the name of its source session, for a peer that may not see that name.
    static func withoutSource(_ line: ArraySlice<UInt8>) -> [UInt8] {
        // Quotation marks within JSON strings are escaped, so this match is the start of the member.
        guard let start = line.indices.first(where: { line[$0...].starts(with: source) }),
            let end = line[(start + source.count)...].firstIndex(of: UInt8(ascii: "\""))
        else { return Array(line) }
        return Array(line[..<start] + line[(end + 1)...])
    }

    private static let start = Array("{\"time\":".utf8)
    private static let session = Array(",\"session\":\"".utf8)
    private static let decisionAfterSession = Array("\",\"decision\":\"".utf8)
    private static let decision = Array(",\"decision\":\"".utf8)
    private static let accessToken = Array("\",\"kind\":\"access\"".utf8)
    private static let idToken = Array("\",\"kind\":\"id\"".utf8)
    private static let action = Array("\",\"action\":\"".utf8)
    private static let source = Array(",\"source\":\"".utf8)
    private static let end = Array("}\n".utf8)
}
