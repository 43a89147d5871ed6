// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// Responses of the Security Token Service: XML, in which a few elements are found only by their names.
enum STSResponse {
    /// Returns the credentials in a successful response.
    ///
    /// - Throws: `misbehaved` if they are incomplete.
    static func credentials(
        in body: [UInt8],
        of url: EndpointURL
    ) throws(RefreshFailure) -> RoleCredentials {
        guard let block = element("Credentials", in: body[...]), let keyID = text("AccessKeyId", in: block),
            let secret = text("SecretAccessKey", in: block), let token = text("SessionToken", in: block),
            let expiration = text("Expiration", in: block),
            let credentials = RoleCredentials(
                keyID: keyID,
                secret: secret,
                sessionToken: token,
                expiration: expiration
            )
        else {
            let message = "\(url.hostAndPort): the response has no role credentials"
            throw RefreshFailure(kind: .misbehaved, message: message)
        }
        return credentials
    }

    /// Classifies a rejection by the codes that Amazon documents for `AssumeRoleWithWebIdentity`.
    static func failure(_ reply: ServerResponse, of url: EndpointURL, _ now: WallTime) -> RefreshFailure {
        let error = element("Error", in: reply.body[...]) ?? []
        let code = text("Code", in: error).map { ServerText.cleaned($0, limit: 60) }
        let words = [code ?? "without an error code", text("Message", in: error)].compactMap(\.self)
        let said = FailureClassification.quoted(words.joined(separator: ": "), at: reply.status)
        return RefreshFailure(
            kind: kind(of: code, at: reply.status),
            code: code,
            message: ServerText.cleaned("\(url.hostAndPort) returned \(reply.status) \(said)"),
            retryAfter: reply.header("retry-after").flatMap { RetryAfter.read($0, at: now) }
        )
    }

    private static func kind(of code: String?, at status: Int) -> FailureClass {
        guard (400..<429).contains(status) else { return (300..<400).contains(status) ? .misbehaved : .busy }
        switch (code ?? "").bytewise {
        // The token has expired or is the wrong one, and its session may soon have another.
        case "ExpiredTokenException", "InvalidIdentityToken", "IDPRejectedClaim": return .grantDead
        case "AccessDenied", "ValidationError", "MalformedPolicyDocument", "PackedPolicyTooLarge",
            "RegionDisabledException":
            return .misconfigured
        case "IDPCommunicationError", "Throttling", "ThrottlingException", "RequestLimitExceeded":
            return .busy
        default: return .unexplained
        }
    }

    private static func text(_ name: String, in bytes: ArraySlice<UInt8>) -> String? {
        element(name, in: bytes).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the bytes between the first tags of this name.
    private static func element(_ name: String, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let start = place(of: "<\(name)>", in: bytes),
            let end = place(of: "</\(name)>", in: bytes[start.upperBound...])
        else { return nil }
        return bytes[start.upperBound..<end.lowerBound]
    }

    private static func place(of tag: String, in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        let tag = Array(tag.utf8)
        var rest = bytes
        while let start = rest.firstIndex(of: tag[0]), rest.endIndex - start >= tag.count {
            let end = start + tag.count
            if rest[start..<end].elementsEqual(tag) { return start..<end }
            rest = rest[(start + 1)...]
        }
        return nil
    }
}
