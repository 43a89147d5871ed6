// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import TOML
import Text

/// A provider file: what is the same for all clients of one provider, and where each fact comes from.
package struct ProviderFile: Equatable, Sendable {
    /// A value that only the user knows, such as a tenant, written as `{name}` in the keys of the session.
    package struct Value: Equatable, Sendable {
        package let name: String
        /// The text of the prompt.
        package let question: String
    }

    /// A scope, and what it permits.
    package struct ScopeMeaning: Equatable, Sendable {
        package let scope: String
        package let meaning: String
    }

    /// The source of facts.
    package struct Evidence: Equatable, Sendable {
        /// The reason to believe a fact.
        package enum Kind: String, CaseIterable, Sendable {
            /// The provider's documentation says so.
            case documented
            /// Two maintained libraries do so.
            case libraries
            case assumed
        }

        /// The keys of the session that it is about.
        package let keys: [String]
        package let kind: Kind
        package let sources: [String]
        /// The day on which somebody looked them up, such as `2026-11-30`, or `nil` if it is not known.
        package let checked: String?
    }

    /// The need of clients for a secret.
    package enum ClientSecretRequirement: String, CaseIterable, Sendable {
        case none, optional, required
    }

    package let name: String
    package let path: String
    package let title: String
    /// The domains at which every address of the file lies.
    package let domains: [String]
    /// The client to register, as a noun phrase that can follow "Register", or `nil` if none is needed.
    package let client: String?
    /// The page on which the user registers it.
    package let registrationPage: String?
    /// The steps on that page.
    package let steps: [String]
    package let clientSecret: ClientSecretRequirement
    package let values: [Value]
    /// The keys that a session of this provider has to set itself, besides the client's.
    package let requiredKeys: [String]
    /// The scopes and their meanings, in the order of the file.
    package let scopes: [ScopeMeaning]
    package let facts: [Evidence]
    /// The keys of `[session.NAME]`, in which `{name}` stands for a value.
    package let session: TOMLTable

    /// Reads the file of the provider `name`.
    ///
    /// - Parameters:
    ///   - name: its name, without the suffix of the file.
    ///   - text: the bytes of the file.
    ///   - path: its path, for messages.
    /// - Throws: ``ConfigurationProblems`` with everything to fix.
    package init(_ name: String, parsing text: [UInt8], at path: String) throws(ConfigurationProblems) {
        let table: TOMLTable
        do throws(TOMLError) {
            table = try TOMLTable(parsing: text)
        } catch {
            let problem = ConfigurationProblem(line: error.position.line, message: error.message)
            throw ConfigurationProblems(file: path, problems: [problem])
        }
        let problems = ProblemCollector()
        var root = TableReader(table, path: "", at: TOMLPosition(line: 1, column: 1), problems: problems)
        self.name = name
        self.path = path
        title = root.required("title", "the provider's name for the user") ?? name
        domains = root.strings("domains") ?? []
        client = root.string("client")
        registrationPage = root.string("register_at")
        steps = root.strings("console") ?? []
        clientSecret = root.word("secret", ClientSecretRequirement.self) ?? .optional
        values = ProviderFile.values(&root)
        requiredKeys = root.strings("requires") ?? []
        var scopes = root.table("scopes")
        let meanings = scopes?.texts() ?? [:]
        self.scopes = (scopes?.entries ?? []).compactMap { entry in
            meanings[entry.key].map { ScopeMeaning(scope: entry.key, meaning: $0) }
        }
        facts = root.tableArray("facts", "[[facts]]").map { Evidence($0) }
        // The responses are for tests.
        _ = root.value("transcript")
        session =
            if case .table(let session)? = root.value("session")?.content { session } else {
                TOMLTable(entries: [])
            }
        if session.entries.isEmpty { root.report("session", "required: the keys of a session") }
        root.refuseUnknownKeys()
        guard problems.isEmpty else { throw ConfigurationProblems(file: path, problems: problems.inOrder) }
    }

    private static func values(_ root: inout TableReader) -> [Value] {
        guard var values = root.table("values") else { return [] }
        let questions = values.texts()
        return values.entries.compactMap { entry in
            questions[entry.key].map { Value(name: entry.key, question: $0) }
        }
    }

    /// Returns the keys of a session of this provider, with the user's values in place of `{name}`.
    ///
    /// - Parameters:
    ///   - given: the values by name.
    ///   - written: the keys that the session has itself, for which the file is not used.
    ///   - report: called with the names of values that are missing, and once for each value that is not fit for an address.
    /// - Returns: the keys; without those that lack a value.
    func keys(
        with given: [String: String],
        besides written: (String) -> Bool,
        report: (_ name: String, _ message: String) -> Void
    ) -> [TOMLTable.Entry] {
        for (name, text) in given.sorted(by: { $0.key < $1.key }) {
            if !values.contains(where: { $0.name.bytewise == name.bytewise }) {
                report(
                    name,
                    "unknown value\(WordSuggestion.question(about: name, among: values.map(\.name)))"
                )
            } else if !ProviderFile.isFit(text) {
                report(name, "must be one part of an address: letters, digits, '.', '_', '~' or '-'")
            }
        }
        var missing: Set<String> = []
        let keys = session.entries.filter { !written($0.key) }.compactMap { entry -> TOMLTable.Entry? in
            var lacking: Set<String> = []
            let value = entry.value.filled(with: given, &lacking)
            // Other names are filled in later, such as {tenantid} in an issuer.
            lacking.formIntersection(values.map(\.name))
            // Helpers find the session by its address without these too.
            if entry.key != "hosts" { missing.formUnion(lacking) }
            return lacking.isEmpty
                ? TOMLTable.Entry(key: entry.key, position: entry.position, value: value) : nil
        }
        for value in values where missing.contains(value.name) {
            report(value.name, "required: \(value.question)")
        }
        return keys
    }

    private static func isFit(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count)
            && text.utf8.allSatisfy(\.isUnreserved)
    }
}

extension ProviderFile {
    /// ``scopes`` as a JSON object.
    package var scopeObject: JSONObject {
        scopes.reduce(into: JSONObject()) { $0[$1.scope] = .string($1.meaning) }
    }

    /// ``session`` as a JSON object.
    package var sessionObject: JSONObject { session.json }
}

extension ProviderFile.Evidence {
    fileprivate init(_ table: TableReader) {
        var table = table
        keys = table.strings("keys") ?? []
        kind = table.word("kind", Kind.self) ?? .assumed
        sources = table.strings("sources") ?? []
        checked =
            if case .dateTime(let day)? = table.value("checked")?.content { day } else { nil }
        table.refuseUnknownKeys()
    }
}

extension TOMLValue {
    /// Returns the value with `given` in place of each `{name}`, and adds the names without a value to `lacking`.
    fileprivate func filled(with given: [String: String], _ lacking: inout Set<String>) -> TOMLValue {
        let content: TOMLValue.Content
        if case .string(let text) = self.content {
            let filled = PlaceholderText.filled(text) { given[$0] }
            lacking.formUnion(filled.lacking)
            content = .string(filled.text)
        } else if case .array(let elements) = self.content {
            content = .array(elements.map { $0.filled(with: given, &lacking) })
        } else if case .table(let table) = self.content {
            let entries = table.entries.map { entry in
                TOMLTable.Entry(
                    key: entry.key,
                    position: entry.position,
                    value: entry.value.filled(with: given, &lacking)
                )
            }
            content = .table(TOMLTable(entries: entries))
        } else {
            return self
        }
        return TOMLValue(content, at: position)
    }
}
