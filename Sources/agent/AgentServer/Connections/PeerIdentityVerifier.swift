// SPDX-License-Identifier: MIT

import TokenCore

/// The identity of the process at the other end of one connection, where rules require it.
///
/// A process can pass its connection to another process, or execute another program. So the process is
/// inspected when it connects and again when a request is served. Both inspections must find the same process
/// running the same file in the same unit, and every byte must have been written by the process that
/// connected. Otherwise the identity is unknown, and no rule about programs or units matches.
///
/// The process number is sufficient to identify the writer: no other process has it while the one that
/// connected is running, and each inspection checks that it is.
final class PeerIdentityVerifier: @unchecked Sendable {
    // Unchecked: confined to the event loop of the connection.
    private let process: Int32
    /// The inspection at the time of the connection.
    private var firstLook: Task<PeerIdentity?, Never>?
    private var hasStrangeSender = false
    /// Whether there was nothing to read at the last check, so that bytes read now have an unknown writer.
    private var expectsNothing = false
    private var isIdentified = false
    /// The identity of the peer for the request being served.
    private(set) var facts: PeerIdentity? { didSet { writtenOrigin = nil } }
    /// The identity for the audit log where no rule requires one, found once, when the peer connected.
    private(set) var seen: PeerIdentity?
    /// The program that started the peer, as claimed by the peer.
    private(set) var claimedCaller: String?
    /// The listener that the active request is for, if its configuration is the active one.
    private(set) var listener: String?
    /// The peer's name in the audit log according to those facts, once it was needed.
    private var writtenOrigin: RequestInitiator?

    init(process: Int32) {
        self.process = process
    }

    /// Starts the first inspection unless it has already started.
    ///
    /// - Returns: The task whose value is the identity at the time of the connection.
    @discardableResult
    func begin(_ look: () -> Task<PeerIdentity?, Never>) -> Task<PeerIdentity?, Never> {
        if let firstLook { return firstLook }
        let begun = look()
        firstLook = begun
        return begun
    }

    /// Records the writer of the bytes that are read next, or `nil` if there are none yet.
    func recordSender(_ sender: Int32?) {
        expectsNothing = sender == nil
        if let sender, sender != process { hasStrangeSender = true }
    }

    /// Records that bytes were read.
    func recordRead() {
        if expectsNothing { hasStrangeSender = true }
    }

    /// Updates ``facts`` from the first inspection and the latest one.
    func identify(_ first: PeerIdentity?, _ latest: PeerIdentity?) {
        facts = nil
        guard !hasStrangeSender, let first, let latest else { return }
        facts = first.confirmed(by: latest)
    }

    /// Records the listener that the new request is for.
    func recordListener(_ name: String?) {
        guard name != nil || listener != nil else { return }
        listener = name
        writtenOrigin = nil
    }

    /// Records the identity at the time of the connection, for the audit log alone.
    ///
    /// `write` names the peer in lines that are not written yet.
    func recordSeen(_ facts: PeerIdentity, _ write: () -> RequestInitiator) {
        seen = facts
        guard self.facts == nil, let writtenOrigin else { return }
        writtenOrigin.become(write())
    }

    /// Records the program that has started the peer, as claimed by the peer.
    func recordClaim(_ caller: String?) {
        guard let caller, caller != claimedCaller else { return }
        claimedCaller = caller
        writtenOrigin = nil
    }

    /// The identity that rules examine, including the listener if the peer is the proxy program.
    var described: PeerIdentity? {
        guard var described = facts, described.isProxy, let listener else { return facts }
        described.listener = listener
        return described
    }

    /// Records that ``facts`` were obtained just now, for the new request.
    func beginRequest() {
        isIdentified = true
    }

    /// Returns whether ``facts`` were obtained for the new request, and forgets those of an earlier one.
    func takeIdentified() -> Bool {
        defer { isIdentified = false }
        if !isIdentified, facts != nil { facts = nil }
        return isIdentified
    }

    /// Discards the peer's name in the audit log, as it has changed.
    func forgetOrigin() { writtenOrigin = nil }

    /// Returns the peer's name in the audit log according to ``facts``, created by `make` when first needed.
    func origin(_ make: () -> RequestInitiator) -> RequestInitiator {
        if let writtenOrigin { return writtenOrigin }
        let made = make()
        writtenOrigin = made
        return made
    }
}
