// SPDX-License-Identifier: MIT

import Text

/// What a resource wants of the login before it serves: `insufficient_scope` (RFC 6750 §3.1) or
/// `insufficient_user_authentication` (RFC 9470 §3), kept to what may be shown and passed on.
struct StepUpChallenge: Equatable {
    /// Words with a blank between them, or `nil`.
    var scope: String?
    var contextClasses: String?
    /// Seconds.
    var maximumAge: Int64?

    /// Ten years, in seconds.
    static let longestAge: Int64 = 3_650 * 86_400
    /// A person copies what is wanted into a command.
    private static let mostWords = 20
    private static let mostBytes = 1_000

    /// The wish of a refusal; `nil`: it is none, or not one that a person could act on.
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
            // A server that wants neither wants the person to be asked again.
            if classes == nil, age == nil { maximumAge = 0 }
        default: return nil
        }
    }

    /// `text` in single blanks, if a person could act on its words (RFC 6749 §3.3 `scope-token`).
    private static func words(_ text: String) -> String? {
        guard text.utf8.count <= mostBytes else { return nil }
        let words = text.bytewise.split(on: " ")
        // A word with a hyphen in front would be an option of the command.
        guard (1...mostWords).contains(words.count),
            words.allSatisfy({ $0.utf8.allSatisfy(\.isNQChar) && $0.utf8.first != UInt8(ascii: "-") })
        else { return nil }
        return words.joined(separator: " ")
    }

    private static func seconds(_ text: String) -> Int64? {
        guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit),
            let seconds = Int64(text), seconds <= longestAge
        else { return nil }
        return seconds
    }
}
