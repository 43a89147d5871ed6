// SPDX-License-Identifier: MIT

/// Under which settings a login was made, as far as its tokens must not be shown to whoever later ones name.
package struct LoginSettings: Equatable, Sendable {
    /// Names the server and the client; without a line end.
    package var fingerprint: String
    /// The servers of addresses written by hand at which tokens are ended, such as `https://id.example:443`.
    package var endings: [String]

    package init(fingerprint: String, endings: [String]) {
        self.fingerprint = fingerprint
        self.endings = endings
    }

    /// As a record has it: the fingerprint, and a line for each ending.
    package init(_ text: String) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        fingerprint = lines.first.map { String(Substring($0)) } ?? ""
        endings = lines.dropFirst().map { String(Substring($0)) }
    }

    package var text: String { ([fingerprint] + endings).joined(separator: "\n") }

    /// Why the tokens of `request` must not be shown to whoever the settings `present` have end them, or `nil` if they may.
    ///
    /// It is asked before each request, also before one that is repeated: the settings may have changed meanwhile.
    package static func refusal(of request: RevocationRequest, under present: String?) -> RefreshFailure? {
        let present = LoginSettings(present ?? "")
        let made = LoginSettings(request.settings ?? "")
        guard !made.allow(present, from: request.tokenEndpoint ?? "") else { return nil }
        return RefreshFailure(
            kind: .misconfigured,
            message: "the address at which tokens are ended has come into the configuration since the login, "
                + "and is another server's"
        )
    }

    /// Whether a login made under these settings may be ended where `present` ones say: at the server that gave its
    /// tokens, or where the settings had it then.
    private func allow(_ present: LoginSettings, from tokenEndpoint: String) -> Bool {
        present.endings.allSatisfy { ending in
            endings.contains { $0.utf8.elementsEqual(ending.utf8) }
                || tokenEndpoint.utf8.elementsEqual(ending.utf8)
                || tokenEndpoint.utf8.starts(with: "\(ending)/".utf8)
        }
    }
}
