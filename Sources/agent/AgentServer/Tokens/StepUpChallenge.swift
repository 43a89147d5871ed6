// SPDX-License-Identifier: MIT

import Text

/// A resource server's requirement that only another login can satisfy.
///
/// It is `insufficient_scope` (RFC 6750 §3.1) or `insufficient_user_authentication` (RFC 9470 §3), reduced to
/// values that are safe to show and to pass on.
struct StepUpChallenge: Equatable {
    /// The required scopes, separated by spaces, or `nil`.
    var scope: String?
    var contextClasses: String?
    /// The maximum age of the login in seconds.
    var maximumAge: Int64?

    /// The maximum accepted age: ten years, in seconds.
    static let maximumAge: Int64 = 3_650 * 86_400
    /// The maximum number of values, which the user copies into a command.
    private static let maximumWords = 20
    private static let maximumBytes = 1_000

    /// Creates the requirement of a rejection, or `nil` if there is none that the user could satisfy.
    init?(status: Int64, _ challenge: String) {
        let challenges = Challenges(challenge)
        let schemes = ["bearer", "dpop"]
        let found = schemes.compactMap { scheme in
            challenges.value(of: "error", scheme: scheme).map { (scheme, $0.bytewise) }
        }
        switch (status, found.first?.1) {
        case (403, "insufficient_scope"):
            guard let text = challenges.value(of: "scope", scheme: found[0].0),
                let words = Self.words(text)
            else { return nil }
            scope = words
        case (401, "insufficient_user_authentication"):
            let classes = challenges.value(of: "acr_values", scheme: found[0].0)
            let age = challenges.value(of: "max_age", scheme: found[0].0)
            if let classes {
                guard let words = Self.words(classes) else { return nil }
                contextClasses = words
            }
            if let age {
                guard let seconds = Self.seconds(age) else { return nil }
                maximumAge = seconds
            }
            // A server that names neither requires the user to log in again.
            if classes == nil, age == nil { maximumAge = 0 }
        default: return nil
        }
    }

    /// Returns `text` with single spaces, or `nil` if it has values that the user could not use (RFC 6749
    /// §3.3 `scope-token`).
    private static func words(_ text: String) -> String? {
        guard text.utf8.count <= maximumBytes else { return nil }
        let words = text.bytewise.split(on: " ")
        // A value with a leading hyphen would be an option of the command.
        guard (1...maximumWords).contains(words.count),
            words.allSatisfy({ $0.utf8.allSatisfy(\.isNQChar) && $0.utf8.first != UInt8(ascii: "-") })
        else { return nil }
        return words.joined(separator: " ")
    }

    private static func seconds(_ text: String) -> Int64? {
        guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
            let seconds = Int64(text), seconds <= maximumAge
        else { return nil }
        return seconds
    }
}
