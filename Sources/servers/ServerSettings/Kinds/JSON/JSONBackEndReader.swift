// SPDX-License-Identifier: MIT

import TOML
import Text

/// A reader of the keys of kind `json`.
struct JSONBackEndReader {
    /// The session's table.
    private var table: TableReader
    private let home: String?
    /// Whether the address for refreshes contains `{base_url}`.
    private var needsBase = false

    /// Creates a reader of `table`, in which `~/` means `home`.
    private init(_ table: TableReader, home: String?) {
        self.table = table
        self.home = home
    }

    /// Reads the back end from the session's table, or returns `nil` with the reasons in the problem list.
    static func read(_ table: inout TableReader, home: String?) -> JSONBackEnd? {
        var reader = JSONBackEndReader(table, home: home)
        defer { table = reader.table }
        return reader.read()
    }

    private mutating func read() -> JSONBackEnd? {
        let base = baseURL()
        let login = address("login_url", at: base)
        let refresh = address("refresh_url", at: base)
        let logout = address("logout_url", at: base)
        if !table.has("refresh_url") {
            table.report("refresh_url", "required: URL for refreshes, or base_url and preset")
        } else if !table.has("base_url"), needsBase {
            table.report("base_url", "required: the address before the paths of the preset")
        } else if table.has("base_url"), !table.has("preset"), !table.has("provider") {
            table.report("base_url", "has no effect without preset")
        }
        let codeStep = codeStep()
        let rules = jsonRules()
        let constants = JSONConstants(
            members: table.table("members").map { entries(of: $0, depth: 1, areHeaders: false) } ?? [],
            headers: table.table("headers").map { entries(of: $0, depth: 1, areHeaders: true) } ?? []
        )
        return refresh.map {
            JSONBackEnd(
                loginURL: login,
                refreshURL: $0,
                logoutURL: logout,
                rules: rules,
                codeStep: codeStep,
                constants: constants
            )
        }
    }

    // MARK: Addresses

    /// Reads the address before the paths of a provider, without a slash at the end.
    private mutating func baseURL() -> String? {
        guard let base = table.url("base_url") else { return nil }
        guard base.query == nil else {
            table.report("base_url", "must not contain a query (?): paths are added to it")
            return nil
        }
        return base.description.utf8.last == UInt8(ascii: "/")
            ? String(base.description.dropLast()) : base.description
    }

    /// Reads an address, in which `{base_url}` stands for `base`.
    private mutating func address(_ key: String, at base: String?) -> String? {
        guard let text = table.string(key) else { return nil }
        guard text.bytewise.contains("{base_url}") else { return table.url(text, of: key)?.description }
        if key == "refresh_url" { needsBase = true }
        // Without base_url, an own address for refreshes is enough.
        guard let base else { return nil }
        return table.url(PlaceholderText.filled(text) { $0 == "base_url" ? base : nil }.text, of: key)?
            .description
    }

    private mutating func codeStep() -> CodeDeliveryStep? {
        let address = table.url("code_url")
        let carried = table.strings("carry")
        guard table.has("code_url") else {
            if table.has("carry") { table.report("carry", "has no effect without code_url") }
            return nil
        }
        if table.has("reauth_command") {
            table.report("reauth_command", "cannot be combined with code_url: only a user gets the code")
        }
        return address.map { CodeDeliveryStep(url: $0.description, carriedMembers: carried ?? []) }
    }

    // MARK: Rules

    private mutating func jsonRules() -> JSONBackEndDialect {
        var rules = JSONBackEndDialect()
        rules.responses = table.tokenResponseFormat(rules.responses) { inner in
            if let name = inner.string("username") { rules.credentials.username = name }
            if let name = inner.string("password") { rules.credentials.password = name }
            if let name = inner.string("code") { rules.credentials.code = name }
        }
        if let codes = table.strings("refresh_on") { rules.refreshCodes = codes }
        if let codes = table.strings("logout_on") { rules.logoutCodes = codes }
        rules.refreshLogoutCodes = table.strings("logout_on_refresh")
        if let sends = table.boolean("logout_refresh_token") { rules.logoutSendsRefreshToken = sends }
        if let ends = table.boolean("logout_on_second_refusal") { rules.endsWithSecondRefusal = ends }
        return rules
    }

    // MARK: Constants

    /// The maximum nesting of objects in `members`.
    private static let deepest = 4

    private func entries(
        of reader: TableReader,
        depth: Int,
        areHeaders: Bool
    ) -> [JSONConstants.Entry] {
        reader.entries.compactMap { entry in
            constant(entry, in: reader, depth: depth, areHeaders: areHeaders).map {
                JSONConstants.Entry(entry.key, $0)
            }
        }
    }

    private func constant(
        _ entry: TOMLTable.Entry,
        in parent: TableReader,
        depth: Int,
        areHeaders: Bool
    ) -> JSONConstants.Value? {
        switch entry.value.content {
        case .string(let text): return .text(text)
        case .integer(let number) where !areHeaders: return .integer(number)
        case .boolean(let value) where !areHeaders: return .boolean(value)
        case .table(let inner):
            let reader = parent.reader(of: inner, at: entry)
            if reader.has("file") || reader.has("command") { return secret(reader).map { .secret($0) } }
            guard !areHeaders else { break }
            guard depth < JSONBackEndReader.deepest else {
                parent.report(entry.key, "has more than \(JSONBackEndReader.deepest) nested tables")
                return nil
            }
            return .object(entries(of: reader, depth: depth + 1, areHeaders: false))
        case .integer, .float, .boolean, .dateTime, .array: break
        }
        let simple = areHeaders ? "a string" : "a string, integer, boolean, table"
        let secret = "or a secret as { file = \"…\" } or { command = […] }"
        parent.report(entry.key, "must be \(simple), \(secret), not \(entry.value.kind)")
        return nil
    }

    /// Reads `{ file = "…" }` or `{ command = […] }`.
    private func secret(_ table: TableReader) -> SecretSource? {
        var table = table
        let file = table.path("file", home: home)
        let command = table.command("command")
        table.refuseUnknownKeys()
        guard table.permitsOne(of: ["file", "command"]) else { return nil }
        return file.map { .file($0) } ?? command.map { .command($0) }
    }
}
