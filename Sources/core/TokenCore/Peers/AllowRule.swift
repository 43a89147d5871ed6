// SPDX-License-Identifier: MIT

/// An element of a session's `allow`, which lets the described peers see the session.
package struct AllowRule: Equatable, Sendable {
    /// The absolute path of the program without symbolic links, or `nil` for any program.
    package var executable: String?
    /// The SHA-256 that the program must also have, in lower-case hexadecimal digits.
    package var digest: String?
    /// The systemd unit that the peer must run in, or `nil` for any unit.
    package var unit: String?
    /// The name of the `[[proxy]]` or `[[endpoint]]` that the peer serves, or `nil` for any peer.
    package var listener: String?
    /// Whether the user must confirm each token.
    package var asksForConfirmation: Bool

    package init(
        executable: String? = nil,
        digest: String? = nil,
        unit: String? = nil,
        listener: String? = nil,
        asksForConfirmation: Bool = false
    ) {
        self.executable = executable
        self.digest = digest
        self.unit = unit
        self.listener = listener
        self.asksForConfirmation = asksForConfirmation
    }

    /// Returns whether the rule describes a peer.
    ///
    /// Without `facts`, nothing is known about the peer. Only a rule without conditions describes it then.
    package func allows(_ facts: PeerIdentity?) -> Bool {
        if let unit, facts?.unit != unit { return false }
        if let listener, facts?.listener != listener { return false }
        guard let executable else { return true }
        return facts?.programs.contains { program in
            program.executable == executable && (digest == nil || program.digest == digest)
        } ?? false
    }
}

/// The access that a session's rules give a peer.
package enum PeerAdmission: Equatable, Sendable {
    case allowed
    /// The peer sees the session. The user must confirm each token.
    case askingFirst
    /// The peer is told that there is no such session.
    case hidden
}

extension [AllowRule] {
    /// Returns the access that these rules give a peer.
    ///
    /// One of them must describe it.
    ///
    /// Without rules every peer is allowed. A rule without confirmation takes precedence over one with it.
    package func admission(of facts: PeerIdentity?) -> PeerAdmission {
        guard !isEmpty else { return .allowed }
        let holding = filter { $0.allows(facts) }
        guard !holding.isEmpty else { return .hidden }
        return holding.contains { !$0.asksForConfirmation } ? .allowed : .askingFirst
    }
}
