// SPDX-License-Identifier: MIT

import Synchronization
import Text
import TokenCore

/// The peer or other cause of a line in the audit log, as JSON members that all requests of a peer share.
///
/// A line stays in memory for up to a second; by then, the peer's process has usually been inspected.
final class RequestInitiator: Equatable, Sendable {
    /// A signal, whose sender is unknown.
    static let signal = RequestInitiator(",\"by\":\"signal\"")
    /// The agent itself, without a request.
    static let agent = RequestInitiator(",\"by\":\"agent\"")

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
    static func file(_ path: String) -> RequestInitiator {
        RequestInitiator(",\"by\":\"agent\",\"file\":\(JSONValue.string(ServerText.cleaned(path)).text)")
    }

    private init(_ members: String) {
        self.members = Mutex(Array(members.utf8))
    }

    var bytes: [UInt8] { members.withLock { $0 } }

    /// Takes over the contents of `other`, also for lines that have not been written yet.
    func become(_ other: RequestInitiator) {
        let new = other.bytes
        members.withLock { $0 = new }
    }

    static func == (left: RequestInitiator, right: RequestInitiator) -> Bool {
        left === right || left.bytes == right.bytes
    }
}

extension RequestInitiator {
    /// Returns the origin of requests from `connection`.
    static func peer(of connection: Connection) -> RequestInitiator {
        connection.caller.witness.origin { made(for: connection.caller) }
    }

    static func made(for caller: Caller) -> RequestInitiator {
        RequestInitiator(
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
