// SPDX-License-Identifier: MIT

/// The settings under which a login was made, as far as they decide where its tokens may be revoked.
package struct LoginSettingsFingerprint: Equatable, Sendable {
    /// The text that identifies the server and the client, without a line end.
    package var fingerprint: String
    /// The origins of configured revocation endpoints, for example `https://id.example:443`.
    package var endings: [String]

    package init(fingerprint: String, endings: [String]) {
        self.fingerprint = fingerprint
        self.endings = endings
    }

    /// Parses the form used in records: the fingerprint, followed by one line for each ending.
    package init(_ text: String) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        fingerprint = lines.first.map { String(Substring($0)) } ?? ""
        endings = lines.dropFirst().map { String(Substring($0)) }
    }

    package var text: String { ([fingerprint] + endings).joined(separator: "\n") }

    /// Returns the reason not to send the tokens of `request` to the revocation endpoint that the settings
    /// `present` name.
    ///
    /// It is checked before each request and each repetition, because the settings may have changed
    /// meanwhile, and those of another host of the fleet may differ.
    ///
    /// - Returns: the failure, or `nil` if the tokens may be sent.
    package static func refusal(of request: RevocationRequest, under present: String?) -> RefreshFailure? {
        let present = LoginSettingsFingerprint(present ?? "")
        let made = LoginSettingsFingerprint(request.settings ?? "")
        let message: String
        if !made.agrees(with: present) {
            message = "the login was made with another issuer or client"
        } else if !made.allow(present, from: request.tokenEndpoint ?? "") {
            message =
                "the configured revocation endpoint belongs to another server than at the login"
        } else {
            return nil
        }
        return RefreshFailure(kind: .misconfigured, message: message)
    }

    /// Returns whether both settings name the same server and client, as far as both are known.
    private func agrees(with present: LoginSettingsFingerprint) -> Bool {
        fingerprint.isEmpty || present.fingerprint.isEmpty
            || fingerprint.utf8.elementsEqual(present.fingerprint.utf8)
    }

    /// Returns whether a login made under these settings may be revoked at the endpoints of `present`.
    ///
    /// They must be at the server that issued the tokens, or already in the settings of the login.
    private func allow(_ present: LoginSettingsFingerprint, from tokenEndpoint: String) -> Bool {
        present.endings.allSatisfy { ending in
            endings.contains { $0.utf8.elementsEqual(ending.utf8) }
                || tokenEndpoint.utf8.elementsEqual(ending.utf8)
                || tokenEndpoint.utf8.starts(with: "\(ending)/".utf8)
        }
    }
}
