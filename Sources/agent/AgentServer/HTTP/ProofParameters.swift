// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The parameters of `GET …/token` that request a proof of possession (RFC 9449 §4.2).
struct ProofParameters {
    var target: String?
    var method: String?
    var nonce: String?

    /// Returns the requested proof, or `nil` if none is requested.
    ///
    /// - Throws: ``RequestFailure`` if the parameters cannot be combined.
    func tokenRequest(forIDToken: Bool) throws(RequestFailure) -> ProofRequest? {
        guard let target else {
            guard method == nil, nonce == nil else {
                throw .unusable("dpop_method and dpop_nonce require dpop_url")
            }
            return nil
        }
        guard !forIDToken else { throw .unusable("a DPoP proof requires an access token, not an ID token") }
        return ProofRequest(method: method ?? "GET", target: target, nonce: nonce)
    }

    /// Returns an absolute URL without its query and fragment, which a proof does not contain.
    ///
    /// - Throws: ``RequestFailure`` if the URL is not a valid target.
    static func target(_ text: String) throws(RequestFailure) -> String {
        let bytes = text.utf8
        let scheme = bytes.prefix { $0 != UInt8(ascii: ":") }
        let rest = bytes.dropFirst(scheme.count)
        let authority = rest.dropFirst(3).prefix { !"/?#".utf8.contains($0) }
        guard bytes.count <= 2_048, bytes.allSatisfy(\.isVisibleASCII),
            ["https", "http"].contains(Substring(scheme).bytewise.lowercased), rest.starts(with: "://".utf8),
            !authority.isEmpty
        else { throw .unusable("dpop_url must be an absolute http or https URL of up to 2048 characters") }
        // A client sends the user name in a header field, so the server does not see it in the URL.
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw .unusable("dpop_url must not contain a user name or password")
        }
        return String(Substring(bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }))
    }

    /// Returns a valid HTTP method, a `token` (RFC 9110 §5.6.2).
    ///
    /// Methods are case-sensitive.
    static func method(_ text: String) throws(RequestFailure) -> String {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(\.isTokenByte) else {
            throw .unusable("dpop_method must be an HTTP method")
        }
        return text
    }

    static func nonce(_ text: String) throws(RequestFailure) -> String {
        guard ProofRequest.isNonce(text) else {
            throw .unusable("dpop_nonce has invalid characters or is too long")
        }
        return text
    }
}

extension RequestFailure {
    fileprivate static func unusable(_ message: String) -> RequestFailure {
        RequestFailure(code: .badRequest, message: message)
    }
}
