// SPDX-License-Identifier: MIT

/// One element of a session's `allow`: the peers it describes may see the session.
package struct AllowRule: Equatable, Sendable {
    /// Absolute path of the program, without symbolic links; `nil`: any program.
    package var executable: String?
    /// SHA-256 that the program must also have, in lower-case hexadecimal digits.
    package var digest: String?
    /// The systemd unit the peer must run in; `nil`: anywhere.
    package var unit: String?
    /// The name of the `[[proxy]]` or `[[endpoint]]` that the peer serves; `nil`: any program.
    package var listener: String?
    /// A person is asked before each token.
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

    /// Whether the rule describes a peer; without `facts` nothing is known about it, and only a rule that
    /// asks for nothing describes it.
    package func allows(_ facts: PeerIdentity?) -> Bool {
        if let unit, facts?.unit != unit { return false }
        if let listener, facts?.listener != listener { return false }
        guard let executable else { return true }
        return facts?.programs.contains { program in
            program.executable == executable && (digest == nil || program.digest == digest)
        } ?? false
    }
}

/// What a session's rules say about a peer.
package enum PeerAdmission: Equatable, Sendable {
    case allowed
    /// Sees the session; a person is asked before it gets a token.
    case askingFirst
    /// To this peer there is no such session.
    case hidden
}

extension [AllowRule] {
    /// What these rules say about a peer: one of them must describe it; without rules every peer is allowed.
    ///
    /// A rule without confirmation wins over one with it.
    package func admission(of facts: PeerIdentity?) -> PeerAdmission {
        guard !isEmpty else { return .allowed }
        let holding = filter { $0.allows(facts) }
        guard !holding.isEmpty else { return .hidden }
        return holding.contains { !$0.asksForConfirmation } ? .allowed : .askingFirst
    }
}
