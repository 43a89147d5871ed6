// SPDX-License-Identifier: MIT

import Synchronization
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

    /// Who did it: the members of the line that say so, written once for all requests of a peer.
    ///
    /// A line waits up to a second before it is written, and by then the peer has usually been looked at.
    final class Origin: Equatable, Sendable {
        /// A signal; who sent it is not known.
        static let signal = Origin(",\"by\":\"signal\"")
        /// The agent by itself; nobody asked.
        static let agent = Origin(",\"by\":\"agent\"")

        private let members: Mutex<[UInt8]>

        /// A peer.
        ///
        /// - Parameters:
        ///   - peer: who it is.
        ///   - facts: what is known of it.
        ///   - claimedCaller: the program that started it, as it says itself.
        ///   - restriction: which `[[socket]]` it asked at, or for which host; `nil` for neither.
        ///   - listener: the `[[proxy]]` or `[[endpoint]]` it asked for.
        convenience init(
            _ peer: PeerCredentials,
            _ facts: PeerIdentity?,
            claimedCaller: String? = nil,
            _ restriction: Restriction? = nil,
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

        /// The agent by itself, for whoever may read the `[[file]]` at `path`.
        static func file(_ path: String) -> Origin {
            Origin(",\"by\":\"agent\",\"file\":\(JSONValue.string(ServerText.cleaned(path)).text)")
        }

        private init(_ members: String) {
            self.members = Mutex(Array(members.utf8))
        }

        fileprivate var bytes: [UInt8] { members.withLock { $0 } }

        /// Says what `other` says, in lines that are not written yet too.
        func become(_ other: Origin) {
            let new = other.bytes
            members.withLock { $0 = new }
        }

        static func == (left: Origin, right: Origin) -> Bool { left === right || left.bytes == right.bytes }
    }

    var time: WallTime
    /// `nil` if it is about the whole agent.
    var session: SessionName?
    /// The session that the tokens of `session` are made from.
    var source: SessionName?
    var subject: Subject
    var decision: Decision
    var origin: Origin

    /// Appends the line with its line feed, from finished pieces because there may be 100,000 in a second.
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

    /// `line` as a peer gets it that may not know of the source; the log itself keeps the name.
    static func withoutSource(_ line: ArraySlice<UInt8>) -> [UInt8] {
        // In texts of the line a quotation mark has a backslash before it, so this is the member's beginning.
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

extension AuditRecord.Origin {
    /// Who is at the other end of `connection`.
    static func peer(of connection: Connection) -> AuditRecord.Origin {
        connection.caller.witness.origin { made(for: connection.caller) }
    }

    static func made(for caller: Caller) -> AuditRecord.Origin {
        AuditRecord.Origin(
            caller.peer,
            caller.witness.facts ?? caller.witness.seen,
            claimedCaller: caller.witness.claimedCaller,
            caller.restriction,
            listener: caller.witness.listener
        )
    }
}

extension PeerIdentity {
    /// The path of the peer's own program; without knowledge of callers the first program is its own.
    fileprivate var shownExecutable: String? {
        executable ?? (callers.isEmpty ? programs.first?.executable : nil)
    }
}

extension Restriction {
    fileprivate var path: String? { if case .socket(let path) = self { path } else { nil } }

    fileprivate var host: String? {
        if case .forwarding(let forwarding) = self { forwarding.host } else { nil }
    }
}
