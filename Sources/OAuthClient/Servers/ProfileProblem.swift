// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// What is wrong with a ``ServerProfile``; `key` is spelled as in the configuration.
package struct ProfileProblem: Error, Equatable, Sendable {
    package var key: String
    /// Completes "KEY …": "must begin with https://".
    package var message: String

    package init(key: String, message: String) {
        self.key = key
        self.message = message
    }
}

extension ServerProfile {
    /// Checks everything that can be known without asking the server or reading a file.
    package func validate() throws(ProfileProblem) {
        switch kind {
        case .oidc(let issuer): try ServerProfile.checkIssuer(issuer)
        case .oauth2(let endpoints): try endpoints.validate()
        case .json(let backEnd): try backEnd.validate()
        case .cognito(let pool): try pool.validate()
        }
        guard !clientID.isEmpty || !kind.identity.kind.hasClients,
            clientID.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            throw ProfileProblem(key: "client_id", message: "must be printable ASCII, at least one character")
        }
        guard (0...65_535).contains(redirectPort) else {
            throw ProfileProblem(key: "redirect_port", message: "must be 0 to 65535")
        }
        try endpoints.validate()
        try checkPrompt()
        try checkScopes()
        try checkResources()
        try checkSecret()
        try trust.validate()
    }

    /// An issuer identifier is an https URL without query or fragment (OIDC Discovery §3, RFC 8414 §2).
    private static func checkIssuer(_ issuer: String) throws(ProfileProblem) {
        guard try ProfileProblem.url(issuer, key: "issuer").query == nil else {
            throw ProfileProblem(key: "issuer", message: "must not contain a query (?)")
        }
    }

    /// RFC 6749 §3.3 `scope-token`.
    private func checkScopes() throws(ProfileProblem) {
        for scope in scopes {
            guard !scope.isEmpty,
                scope.utf8.allSatisfy({ $0 == 0x21 || (0x23...0x7E).contains($0) && $0 != 0x5C })
            else {
                throw ProfileProblem(
                    key: "scopes",
                    message: "must be words of printable ASCII without quotes"
                )
            }
        }
    }

    /// OIDC Core §3.1.2.1: words, of which `none` goes with no other.
    private func checkPrompt() throws(ProfileProblem) {
        guard let prompt else { return }
        guard prompt.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw ProfileProblem(key: "prompt", message: "must be words such as \"consent\" or \"login\"")
        }
        let words = prompt.split(separator: " ")
        if words.contains("none"), words.count > 1 {
            throw ProfileProblem(key: "prompt", message: "must not name another word beside \"none\"")
        }
    }

    private func checkResources() throws(ProfileProblem) {
        for resource in resources where !resource.isAbsoluteURI {
            throw ProfileProblem(key: "resource", message: "must be an absolute URI without fragment")
        }
    }

    private func checkSecret() throws(ProfileProblem) {
        if case .command(let command) = clientSecret, command.isEmpty {
            throw ProfileProblem(key: "client_secret_command", message: "must name a program")
        }
        if case .none = clientSecret, flow == .clientCredentials {
            throw ProfileProblem(key: "flow", message: "client_credentials needs a client secret")
        }
    }
}

extension FixedEndpoints {
    fileprivate func validate() throws(ProfileProblem) {
        if let issuer { _ = try ProfileProblem.url(issuer, key: "issuer") }
        let others = WrittenEndpoints(
            token: token,
            authorization: authorization,
            deviceAuthorization: deviceAuthorization,
            revocation: revocation,
            endSession: endSession,
            keySet: keySet
        )
        try others.validate()
    }
}

extension ServerTrust {
    package func validate() throws(ProfileProblem) {
        for pin in pins where CertificatePin(pin) == nil {
            throw ProfileProblem(key: "pins", message: "must be \"sha256/\" and the base64 of 32 bytes")
        }
        if let caFile, !caFile.hasPrefix("/") {
            throw ProfileProblem(key: "ca_file", message: "must be an absolute path")
        }
    }
}

extension ProfileProblem {
    static func url(_ text: String, key: String) throws(ProfileProblem) -> EndpointURL {
        do throws(EndpointProblem) {
            return try EndpointURL(text)
        } catch {
            throw ProfileProblem(key: key, message: error.description)
        }
    }
}

extension String {
    /// RFC 3986 §4.3 without fragment, as RFC 8707 §2 wants a `resource`.
    var isAbsoluteURI: Bool {
        guard let colon = firstIndex(of: ":"), colon != startIndex, !contains("#"),
            utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return false }
        let scheme = self[..<colon].utf8
        return scheme.first?.isASCIILetter == true && index(after: colon) != endIndex
            && scheme.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "+-.".utf8.contains($0) }
    }
}
