// SPDX-License-Identifier: MIT

import TOML
import Text
import TokenCore

/// The keys of a session as its table has them, and those of its provider that it does not set itself.
package struct SessionKeyValues: Sendable {
    /// The keys of the table, with a placeholder for a client secret.
    package let own: JSONObject
    /// The provider that the table names, or `nil` if it names none.
    package let provider: String?
    /// The keys of the provider, with the session's values filled in.
    package let provided: JSONObject

    /// Reads the table of the session `name` in the configuration file at `path`, which has been checked.
    ///
    /// Returns `nil` if the file has changed since and has no such table any more.
    package init?(of name: SessionName, in path: String, _ providers: ProviderCatalogue) {
        guard let file = try? OpenConfigurationFile(path), let text = try? file.contents(),
            let root = try? TOMLTable(parsing: text),
            case .table(let sessions)? = root["session"]?.content,
            case .table(let table)? = sessions[name.description]?.content
        else { return nil }
        var own = table.json
        if own["client_secret"] != nil { own["client_secret"] = "(hidden)" }
        self.own = own
        provider = own["provider"]?.string
        let members = own["provider_values"]?.object?.members ?? []
        let given = members.compactMap { member in member.value.string.map { (member.name, $0) } }
        let keys = provider.flatMap { try? providers.file(named: $0) }?
            .keys(
                with: Dictionary(given) { _, last in last },
                besides: { table[$0] != nil },
                report: { _, _ in }
            )
        provided = TOMLTable(entries: keys ?? []).json
    }
}
