// SPDX-License-Identifier: MIT

import ServerSettings
import TOML
import Text

/// A reader of the keys of kind `json`.
struct JSONBackEndReader: SessionPartReading {
    /// The session's table.
    private(set) var table: TableReader
    private let home: String?

    /// Creates a reader of `table`, in which `~/` means `home`.
    init(_ table: TableReader, home: String?) {
        self.table = table
        self.home = home
    }

    /// Reads the back end, or returns `nil` with the reasons in the problem list.
    mutating func read() -> JSONBackEnd? {
        let preset = table.word("preset", JSONPreset.self)
        let base = baseURL(for: preset)
        let login = table.url("login_url")?.description ?? base.login
        let refresh = table.url("refresh_url")?.description ?? base.refresh
        let logout = table.url("logout_url")?.description ?? base.logout
        if refresh == nil, !table.has("refresh_url"), !table.has("base_url") {
            table.report(
                "refresh_url",
                "required: URL for refreshes, or base_url and preset"
            )
        }
        let codeStep = codeStep()
        let rules = jsonRules(preset)
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

    /// Returns the URLs that follow from `base_url` and the preset.
    private mutating func baseURL(
        for preset: JSONPreset?
    ) -> (login: String?, refresh: String?, logout: String?) {
        guard let base = table.url("base_url") else { return (nil, nil, nil) }
        guard base.query == nil else {
            table.report("base_url", "must not contain a query (?): paths are added to it")
            return (nil, nil, nil)
        }
        guard let paths = preset?.paths else {
            if !table.has("preset") {
                table.report(
                    "base_url",
                    "requires preset, which has the paths, or login_url, refresh_url and logout_url"
                )
            }
            return (nil, nil, nil)
        }
        var address = base.description
        if address.utf8.last == UInt8(ascii: "/") { address.removeLast() }
        return (address + paths.login, address + paths.refresh, address + paths.logout)
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

    private mutating func jsonRules(_ preset: JSONPreset?) -> JSONRules {
        var rules = preset?.rules ?? .common
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
