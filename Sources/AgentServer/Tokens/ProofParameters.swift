// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The parameters of `GET …/token` that ask for a proof of possession (RFC 9449 §4.2).
struct ProofParameters {
    var target: String?
    var method: String?
    var nonce: String?

    /// What they ask for together; `nil` if they ask for no proof.
    func demand(forIDToken: Bool) throws(RequestFailure) -> ProofRequest? {
        guard let target else {
            guard method == nil, nonce == nil else {
                throw .unusable("dpop_method and dpop_nonce go with dpop_url.")
            }
            return nil
        }
        guard !forIDToken else { throw .unusable("A proof goes with an access token, not with an ID token.") }
        return ProofRequest(method: method ?? "GET", target: target, nonce: nonce)
    }

    /// An absolute URL without its query and fragment, which a proof does not name.
    static func target(_ text: String) throws(RequestFailure) -> String {
        let bytes = text.utf8
        let scheme = bytes.prefix { $0 != UInt8(ascii: ":") }
        let rest = bytes.dropFirst(scheme.count)
        let authority = rest.dropFirst(3).prefix { !"/?#".utf8.contains($0) }
        guard bytes.count <= 2_048, bytes.allSatisfy(\.isVisibleASCII),
            ["https", "http"].contains(Substring(scheme).bytewise.lowercased), rest.starts(with: "://".utf8),
            !authority.isEmpty
        else { throw .unusable("dpop_url is an absolute http or https URL of up to 2048 characters.") }
        // A client sends the user's name in a header, and a server does not see it in the address.
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw .unusable("dpop_url must not contain a user name or password.")
        }
        return String(Substring(bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }))
    }

    /// A `token` (RFC 9110 §5.6.2); methods are case-sensitive.
    static func method(_ text: String) throws(RequestFailure) -> String {
        guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(\.isTokenByte) else {
            throw .unusable("dpop_method is an HTTP method.")
        }
        return text
    }

    static func nonce(_ text: String) throws(RequestFailure) -> String {
        guard ProofRequest.isNonce(text) else {
            throw .unusable("dpop_nonce holds characters that no nonce can have, or too many.")
        }
        return text
    }
}

extension RequestFailure {
    fileprivate static func unusable(_ message: String) -> RequestFailure {
        RequestFailure(code: .badRequest, message: message)
    }
}
