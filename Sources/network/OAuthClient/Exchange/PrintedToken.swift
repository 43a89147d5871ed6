// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A token printed by a program, alone or in a JSON object with its expiry.
struct PrintedToken: Equatable, Sendable {
    /// The expiry of the token, if it was printed.
    enum Expiry: Equatable, Sendable {
        case at(WallTime)
        case after(Duration)
        case unsaid
    }

    /// The reason the output is not a token.
    ///
    /// The message never quotes the output.
    struct OutputError: Error, Equatable {
        /// The end of a sentence that begins with the program, such as "printed nothing".
        var message: String
    }

    var token: String
    var end: Expiry

    /// The members that contain the token, in this order: az, other programs, `gcloud config config-helper`,
    /// and credential plugins of Kubernetes.
    private static let tokens = [
        ["access_token"], ["accessToken"], ["token"], ["id_token"], ["credential", "access_token"],
        ["status", "token"],
    ].compactMap { JSONPath($0) }
    /// The members that contain the expiry, in this order.
    ///
    /// The `expiresOn` of az has no zone and is then ignored.
    private static let ends = [
        ["expires_on"], ["expires_in"], ["credential", "token_expiry"], ["status", "expirationTimestamp"],
        ["expiresOn"],
    ].compactMap { JSONPath($0) }
    /// The only member of ``ends`` with a lifetime in seconds instead of a time.
    private static let lifetime = JSONPath(["expires_in"])

    /// Parses the standard output of a program.
    ///
    /// - Throws: The reason the output is not a token.
    init(_ output: [UInt8]) throws(OutputError) {
        let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
        let text = output[...].drop { blanks.contains($0) }
        guard let first = text.first else { throw OutputError(message: "printed nothing") }
        guard first == UInt8(ascii: "{") else {
            let end = text.lastIndex { !blanks.contains($0) } ?? text.startIndex
            let bare = text[...end]
            guard bare.allSatisfy(\.isVisibleASCII) else {
                throw OutputError(message: "printed something other than one token")
            }
            (token, self.end) = (String(decoding: bare, as: UTF8.self), .unsaid)
            return
        }
        guard let object = (try? JSONValue(parsing: text))?.object else {
            throw OutputError(message: "printed invalid JSON")
        }
        token = try PrintedToken.token(in: object)
        end = PrintedToken.end(in: object)
    }

    private static func token(in object: JSONObject) throws(OutputError) -> String {
        for place in tokens {
            guard let text = object[place]?.string, !text.utf8.isEmpty else { continue }
            guard text.utf8.allSatisfy(\.isVisibleASCII) else {
                throw OutputError(message: "printed a token with invalid characters")
            }
            return text
        }
        throw OutputError(message: "printed JSON without a token")
    }

    private static func end(in object: JSONObject) -> Expiry {
        for place in ends {
            guard let value = object[place], let end = end(value, isLifetime: place == lifetime) else {
                continue
            }
            return end
        }
        return .unsaid
    }

    private static func end(_ value: JSONValue, isLifetime: Bool) -> Expiry? {
        if isLifetime { return LifetimeParser.read(value).map(Expiry.after) }
        if let text = value.string, let time = ZonedTime.read(text) { return .at(time) }
        guard let seconds = value.double ?? value.string.flatMap(JSONNumber.double), seconds >= 0,
            seconds < 1e11
        else { return nil }
        return .at(WallTime(secondsSince1970: Int64(seconds)))
    }

    /// Returns the remaining validity: as printed, or by the token's own claims, or else `assumed`.
    ///
    /// - Throws: An error if the token has expired.
    func lifetime(at now: WallTime, assumed: Duration) throws(OutputError) -> Duration {
        let left: Duration
        switch end {
        case .after(let life): left = life
        case .at(let time): left = time - now
        case .unsaid:
            guard let expiry = JWTParts(token)?.claims.seconds("exp") else { return assumed }
            left = WallTime(secondsSince1970: expiry) - now
        }
        guard left > .zero else { throw OutputError(message: "printed a token that has expired") }
        return min(left, LifetimeParser.longest)
    }
}
