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

    /// Whether a login made under these settings may be ended where `present` ones say: at the server that gave its
    /// tokens, or where the settings had it then.
    func allow(_ present: LoginSettings, from tokenEndpoint: String) -> Bool {
        present.endings.allSatisfy { ending in
            endings.contains { $0.utf8.elementsEqual(ending.utf8) }
                || tokenEndpoint.utf8.elementsEqual(ending.utf8)
                || tokenEndpoint.utf8.starts(with: "\(ending)/".utf8)
        }
    }
}
