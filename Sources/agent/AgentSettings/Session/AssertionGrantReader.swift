// SPDX-License-Identifier: MIT

import ServerSettings
import TOML
import Text
import TokenCore

/// A reader of the assertion for a session of flow `jwt_bearer` (RFC 7523 §2.1).
struct AssertionGrantReader: SessionPartReading {
    /// The session's table.
    private(set) var table: TableReader
    private let home: String?

    /// The keys for the source of the assertion.
    static let sources =
        ["from", "assertion_file", "assertion_command", "service_account_file"] + keys
    private static let keys = ["assertion_key_file", "assertion_key_command"]
    /// The keys that no other flow has.
    private static let own = sources.dropFirst() + ["assertion_key_id", "assertion_claims"]

    /// Creates a reader of `table`, in which `~/` means `home`.
    init(_ table: TableReader, home: String?) {
        self.table = table
        self.home = home
    }

    /// Reads the grant for the tokens, with errors in the problem list.
    mutating func read() -> ConfiguredSources {
        var sources = table.sources()
        let source = source()
        let claims = claims()
        guard let source else { return sources }
        switch source {
        case .session, .file, .command:
            if table.has("assertion_claims") {
                table.report("assertion_claims", "has no effect: the assertion is signed elsewhere")
            }
        case .signed:
            if claims["iss"] == nil, !table.has("client_id") {
                table.report(
                    "assertion_claims",
                    "must contain \"iss\", the issuer of the assertion, unless client_id is set"
                )
            }
        case .serviceAccount: checkServiceAccount(claims)
        }
        sources.grant = .assertion(AssertionGrant(source, claims: claims))
        return sources
    }

    /// Reports the keys of assertion grants in a session of another flow.
    mutating func refuse() {
        table.refuse(Self.own, "only for flow \"jwt_bearer\"")
    }

    private mutating func source() -> AssertionGrant.Source? {
        let file = table.path("assertion_file", home: home)
        let command = table.command("assertion_command")
        let account = table.path("service_account_file", home: home)
        let key = key()
        guard let first = Self.sources.first(where: { table.has($0) }) else {
            table.report("flow", "\"jwt_bearer\" requires one of \(Self.sources.joined(separator: ", "))")
            return nil
        }
        guard table.permitsOne(of: Self.sources) else { return nil }
        if first == "from" { return .session }
        return file.map { .file($0) } ?? command.map { .command($0) } ?? account.map { .serviceAccount($0) }
            ?? key.map { .signed($0) }
    }

    private mutating func key() -> AssertionKey? {
        let file = table.path("assertion_key_file", home: home)
        let command = table.command("assertion_key_command")
        let identifier = table.string("assertion_key_id")
        if table.has("assertion_key_id"), !Self.keys.contains(where: { table.has($0) }) {
            table.report("assertion_key_id", "has no effect without an assertion key")
        }
        let source: SecretSource? = command.map { .command($0) } ?? file.map { .file($0) }
        return source.map { AssertionKey($0, identifier: identifier) }
    }

    /// Reads the table `assertion_claims` and converts it to JSON.
    private mutating func claims() -> JSONObject {
        guard let reader = table.table("assertion_claims") else { return JSONObject() }
        var claims = JSONObject()
        for entry in reader.entries {
            if let objection = Self.objection(to: entry) {
                reader.report(entry.key, objection)
            } else {
                claims[entry.key] = JSONValue(entry.value)
            }
        }
        return claims
    }

    private static func objection(to claim: TOMLTable.Entry) -> String? {
        guard !AssertionGrant.freshClaims.contains(claim.key) else {
            return "must not be set: each assertion has its own value"
        }
        if AssertionGrant.textClaims.contains(claim.key) {
            return claim.value.text?.isEmpty == false ? nil : "must be a non-empty string"
        }
        guard JSONValue(claim.value) == nil else { return nil }
        return
            "must be a string, an integer, a boolean, or an array or table of these, not \(claim.value.kind)"
    }

    /// Reports claims and keys that a service account cannot have: its file names the issuer, and `scopes`
    /// the scopes.
    private mutating func checkServiceAccount(_ claims: JSONObject) {
        let said = [
            ("iss", "the service account file sets this claim"),
            ("scope", "the key scopes sets this claim"),
        ]
        for (claim, place) in said where claims[claim] != nil {
            table.report("assertion_claims", "must not contain \"\(claim)\": \(place)")
        }
        table.refuse(["audience", "resources"], "tokens of a service account have only scopes")
    }
}

extension JSONValue {
    /// Converts the value of a claim, or returns `nil` if JSON has no such type or a claim may not have it.
    fileprivate init?(_ value: TOMLValue) {
        if let text = value.text {
            self = .string(text)
        } else if case .integer(let number) = value.content {
            self = .integer(number)
        } else if case .boolean(let truth) = value.content {
            self = .bool(truth)
        } else if case .array(let elements) = value.content {
            let values = elements.compactMap { JSONValue($0) }
            guard values.count == elements.count else { return nil }
            self = .array(values)
        } else if case .table(let table) = value.content {
            var object = JSONObject()
            for entry in table.entries {
                guard let value = JSONValue(entry.value) else { return nil }
                object[entry.key] = value
            }
            self = .object(object)
        } else {
            return nil
        }
    }
}
