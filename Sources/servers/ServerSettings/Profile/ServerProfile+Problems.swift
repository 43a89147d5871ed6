// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension ServerProfile {
    /// The errors of the client that are visible without asking the server or reading a file.
    package var clientProblems: [ServerProfileError] { [nameProblem, secretProblem].compactMap(\.self) }

    /// The errors outside of kind and client.
    package var otherProblems: [ServerProfileError] {
        authorization.problems + scopes.compactMap(Self.scopeProblem)
            + resources.compactMap(Self.resourceProblem) + trust.problems
            + [userAgentProblem, resourcesProblem].compactMap(\.self)
            + dialect.problems(hasSecret: client.proof.secret != nil)
    }

    /// The maximum number of bytes.
    ///
    /// Real values are shorter, and servers reject long ones.
    private static let maximumUserAgentLength = 256

    /// The error in `User-Agent` (RFC 9110 §10.1.5), or `nil` if there is none.
    private var userAgentProblem: ServerProfileError? {
        guard let userAgent,
            userAgent.utf8.count > Self.maximumUserAgentLength || userAgent.utf8.first == 0x20
                || userAgent.utf8.last == 0x20 || !userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        return ServerProfileError(
            "user_agent",
            "must be printable ASCII, at most \(Self.maximumUserAgentLength) bytes"
        )
    }

    /// The error of resources that cannot be sent, or `nil` if there is none.
    private var resourcesProblem: ServerProfileError? {
        guard resources.count > 1, dialect.requests.placement == .json else { return nil }
        return ServerProfileError("resources", "must be one with token_request.format = \"json\"")
    }

    private var nameProblem: ServerProfileError? {
        guard !client.id.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        return ServerProfileError("client_id", "must be printable ASCII")
    }

    private var secretProblem: ServerProfileError? {
        guard client.proof == .none, flow == .clientCredentials, kind.word.hasLogins else {
            return nil
        }
        return ServerProfileError(
            "flow",
            "client_credentials requires a client secret, key or assertion"
        )
    }

    /// Checks a scope (RFC 6749 §3.3 `scope-token`).
    private static func scopeProblem(_ scope: String) -> ServerProfileError? {
        guard scope.isEmpty || !scope.utf8.allSatisfy(\.isNQChar) else { return nil }
        return ServerProfileError("scopes", "\"\(scope)\" is not a scope (one scope per element)")
    }

    private static func resourceProblem(_ resource: String) -> ServerProfileError? {
        guard !resource.isAbsoluteURI else { return nil }
        return ServerProfileError("resources", "\"\(resource)\" must be an absolute URI without fragment")
    }
}

extension ServerTrust {
    fileprivate var problems: [ServerProfileError] {
        pins.filter { CertificatePin($0) == nil }.map { pin in
            let message = "\"\(pin)\" must be \"sha256/\" and the base64 of the 32 bytes of SHA-256"
            return ServerProfileError("pins", message)
        }
    }
}
