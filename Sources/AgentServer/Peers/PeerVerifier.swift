// SPDX-License-Identifier: MIT

import TokenCore

/// What is known of the process at the other end of one connection, where rules ask for it.
///
/// A process can hand its connection on, and become another program by exec. So the program is looked at when
/// the connection comes and again when something is answered. Both looks must find the same process running
/// the same file in the same unit, and every byte must have been written by the process that connected. Of
/// any other connection nothing is known, and no rule about programs or units fits it.
///
/// The number of a process is enough to tell the writer: no other process has it while the one that connected
/// lives, and each look checks that it lives.
final class PeerVerifier: @unchecked Sendable {
    // Unchecked: confined to the event loop of the connection.
    private let process: Int32
    /// Finds what the peer was when it connected.
    private var firstLook: Task<PeerIdentity?, Never>?
    private var hasStrangeSender = false
    /// Whether there was nothing to read at the last look, so that bytes read now have an unknown writer.
    private var expectsNothing = false
    private var isIdentified = false
    /// What is known of the peer for the request that is being answered.
    private(set) var facts: PeerIdentity? { didSet { writtenOrigin = nil } }
    /// What the audit log says of the peer where no rule asks for facts: found once, when it connected.
    private(set) var seen: PeerIdentity?
    /// The program that started the peer, as the peer says itself.
    private(set) var claimedCaller: String?
    /// The listener for which the request is that is being answered, by a table that is in force.
    private(set) var listener: String?
    /// How the audit log names the peer by those facts, once it has.
    private var writtenOrigin: AuditRecord.Origin?

    init(process: Int32) {
        self.process = process
    }

    /// Begins the first look, unless it has begun already.
    /// - Returns: what the peer was at the first look.
    @discardableResult
    func begin(_ look: () -> Task<PeerIdentity?, Never>) -> Task<PeerIdentity?, Never> {
        if let firstLook { return firstLook }
        let begun = look()
        firstLook = begun
        return begun
    }

    /// Notes who wrote the bytes that are read next; `nil` if there are none yet.
    func noteSender(_ sender: Int32?) {
        expectsNothing = sender == nil
        if let sender, sender != process { hasStrangeSender = true }
    }

    /// Notes that something was read.
    func noteRead() {
        if expectsNothing { hasStrangeSender = true }
    }

    /// Decides from the first look and the latest one what is known now.
    func identify(_ first: PeerIdentity?, _ latest: PeerIdentity?) {
        facts = nil
        guard !hasStrangeSender, let first, let latest else { return }
        facts = first.confirmed(by: latest)
    }

    /// Notes for which listener the request is that begins.
    func noteListener(_ name: String?) {
        guard name != nil || listener != nil else { return }
        listener = name
        writtenOrigin = nil
    }

    /// Notes what the peer was when it connected, for the audit log alone; `write` names it for lines not written yet.
    func noteSeen(_ facts: PeerIdentity, _ write: () -> AuditRecord.Origin) {
        seen = facts
        guard self.facts == nil, let writtenOrigin else { return }
        writtenOrigin.become(write())
    }

    /// Notes which program has started the peer, as it says itself.
    func noteClaim(_ caller: String?) {
        guard let caller, caller != claimedCaller else { return }
        claimedCaller = caller
        writtenOrigin = nil
    }

    /// What rules look at: what is known of the peer, with the listener it asks for if it is the program that serves them.
    var described: PeerIdentity? {
        guard var described = facts, described.isProxy, let listener else { return facts }
        described.listener = listener
        return described
    }

    /// Notes that ``facts`` were found just now, for the request that begins.
    func beginRequest() {
        isIdentified = true
    }

    /// Whether ``facts`` have been found for the request that begins; those of an earlier one are forgotten.
    func takeIdentified() -> Bool {
        defer { isIdentified = false }
        if !isIdentified, facts != nil { facts = nil }
        return isIdentified
    }

    /// The audit log names the peer in another way from now on.
    func forgetOrigin() { writtenOrigin = nil }

    /// How the audit log names the peer by the present ``facts``; made by `make` when first needed.
    func origin(_ make: () -> AuditRecord.Origin) -> AuditRecord.Origin {
        if let writtenOrigin { return writtenOrigin }
        let made = make()
        writtenOrigin = made
        return made
    }
}
