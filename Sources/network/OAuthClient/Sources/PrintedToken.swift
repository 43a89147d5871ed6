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

/// Times with an offset from UTC (RFC 3339 §5.6).
enum ZonedTime {
    /// Parses `2026-11-14T22:13:20.5+01:00`, also with a blank instead of the T, or returns `nil` for a text
    /// without a zone.
    static func read(_ text: String) -> WallTime? {
        var bytes = Array(text.utf8)[...]
        guard bytes.count <= HTTPDate.longest, let year = number(&bytes, 4, in: 1970...9999),
            take(&bytes, "-"), let month = number(&bytes, 2, in: 1...12), take(&bytes, "-"),
            let day = number(&bytes, 2, in: 1...31), take(&bytes, "Tt "),
            let hour = number(&bytes, 2, in: 0...23), take(&bytes, ":"),
            let minute = number(&bytes, 2, in: 0...59), take(&bytes, ":"),
            let second = number(&bytes, 2, in: 0...60)
        else { return nil }
        if take(&bytes, ".") { bytes = bytes.drop(while: \.isASCIIDigit) }
        guard let distance = distance(&bytes), bytes.isEmpty else { return nil }
        let days = HTTPDate.daysSince1970(year: year, month: month, day: day)
        return WallTime(secondsSince1970: ((days * 24 + hour) * 60 + minute) * 60 + second - distance)
    }

    /// Returns `2026-11-14T22:13:20Z`.
    ///
    /// ``read(_:)`` accepts only years with four digits.
    static func text(of time: WallTime) -> String {
        let seconds = max(0, time.secondsSince1970)
        let date = HTTPDate.civilDate(daysSince1970: seconds / 86_400)
        return "\(date.year)-\(twoDigits(date.month))-\(twoDigits(date.day))T\(clock(seconds % 86_400))Z"
    }

    /// Returns `22:13:20` for a number of seconds since midnight.
    static func clock(_ seconds: Int64) -> String {
        "\(twoDigits(seconds / 3600)):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
    }

    private static func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Returns the offset in seconds east of UTC.
    private static func distance(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
        if take(&bytes, "Zz") { return 0 }
        let isWest = bytes.first == UInt8(ascii: "-")
        guard take(&bytes, "+-"), let hours = number(&bytes, 2, in: 0...23) else { return nil }
        _ = take(&bytes, ":")
        guard let minutes = number(&bytes, 2, in: 0...59) else { return nil }
        return (hours * 60 + minutes) * (isWest ? -60 : 60)
    }

    private static func take(_ bytes: inout ArraySlice<UInt8>, _ characters: String) -> Bool {
        guard let first = bytes.first, characters.utf8.contains(first) else { return false }
        bytes.removeFirst()
        return true
    }

    private static func number(
        _ bytes: inout ArraySlice<UInt8>,
        _ digits: Int,
        in range: ClosedRange<Int64>
    ) -> Int64? {
        let text = bytes.prefix(digits)
        guard text.count == digits, text.allSatisfy(\.isASCIIDigit),
            let value = Int64(String(decoding: text, as: UTF8.self)), range.contains(value)
        else { return nil }
        bytes.removeFirst(digits)
        return value
    }
}
