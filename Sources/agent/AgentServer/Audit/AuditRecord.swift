// SPDX-License-Identifier: MIT

import Synchronization
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

    /// The peer or other cause of a line, as JSON members that all requests of a peer share.
    ///
    /// A line stays in memory for up to a second; by then, the peer's process has usually been inspected.
    final class Initiator: Equatable, Sendable {
        /// A signal, whose sender is unknown.
        static let signal = Initiator(",\"by\":\"signal\"")
        /// The agent itself, without a request.
        static let agent = Initiator(",\"by\":\"agent\"")

        private let members: Mutex<[UInt8]>

        /// Creates the origin of a peer's requests.
        ///
        /// - Parameters:
        ///   - peer: The peer's credentials.
        ///   - facts: The peer's identity, as far as it is known.
        ///   - claimedCaller: The program that started the peer, according to the peer itself.
        ///   - restriction: The `[[socket]]` or forwarded host of the connection, or `nil` for neither.
        ///   - listener: The `[[proxy]]` or `[[endpoint]]` that the peer acts for.
        convenience init(
            _ peer: PeerCredentials,
            _ facts: PeerIdentity?,
            claimedCaller: String? = nil,
            _ restriction: ConnectionRestriction? = nil,
            listener: String? = nil
        ) {
            var members = ",\"pid\":\(peer.processID),\"uid\":\(peer.userID)"
            func add(_ name: String, _ value: JSONValue?) {
                guard let value else { return }
                members += ",\"\(name)\":\(String(decoding: value.serialized, as: UTF8.self))"
            }
            func text(_ value: String?) -> JSONValue? { value.map { .string(ServerText.cleaned($0)) } }
            add("exe", text(facts?.shownExecutable))
            if facts?.shownExecutable == nil { add("name", text(facts?.name)) }
            if let callers = facts?.callers, !callers.isEmpty {
                add("callers", .array(callers.map { .string(ServerText.cleaned($0)) }))
            }
            add("claimed_caller", text(claimedCaller))
            add("unit", text(facts?.unit))
            add("socket", text(restriction?.path))
            add("host", text(restriction?.host))
            add("listener", text(listener))
            self.init(members)
        }

        /// Returns the agent itself as the writer of the `[[file]]` at `path`.
        static func file(_ path: String) -> Initiator {
            Initiator(",\"by\":\"agent\",\"file\":\(JSONValue.string(ServerText.cleaned(path)).text)")
        }

        private init(_ members: String) {
            self.members = Mutex(Array(members.utf8))
        }

        fileprivate var bytes: [UInt8] { members.withLock { $0 } }

        /// Takes over the contents of `other`, also for lines that have not been written yet.
        func become(_ other: Initiator) {
            let new = other.bytes
            members.withLock { $0 = new }
        }

        static func == (left: Initiator, right: Initiator) -> Bool {
            left === right || left.bytes == right.bytes
        }
    }

    var time: WallTime
    /// The session, or `nil` if the line is about the whole agent.
    var session: SessionName?
    /// The session that the tokens of `session` are made from.
    var source: SessionName?
    var subject: AuditedOperation
    var decision: AuditedOutcome
    var origin: Initiator

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

extension AuditRecord.Initiator {
    /// Returns the origin of requests from `connection`.
    static func peer(of connection: Connection) -> AuditRecord.Initiator {
        connection.caller.witness.origin { made(for: connection.caller) }
    }

    static func made(for caller: Caller) -> AuditRecord.Initiator {
        AuditRecord.Initiator(
            caller.peer,
            caller.witness.facts ?? caller.witness.seen,
            claimedCaller: caller.witness.claimedCaller,
            caller.restriction,
            listener: caller.witness.listener
        )
    }
}

extension PeerIdentity {
    /// The path of the peer's own program; if its callers are unknown, the first program is its own.
    fileprivate var shownExecutable: String? {
        executable ?? (callers.isEmpty ? programs.first?.executable : nil)
    }
}

extension ConnectionRestriction {
    fileprivate var path: String? { if case .socket(let path) = self { path } else { nil } }

    fileprivate var host: String? {
        if case .forwarding(let forwarding) = self { forwarding.host } else { nil }
    }
}
