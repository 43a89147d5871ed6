// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import TOML
import TokenCore

/// The keys for access to the session, and for logins without a user.
extension SessionReader {
    /// Reads `reauth`; by default the user is prompted.
    mutating func reauthentication() -> [ReauthenticationStep] {
        guard let words = table.strings("reauth") else { return [.prompt] }
        let steps = words.compactMap { word in
            ReauthenticationStep(word: word) { [table] in table.report("reauth", $0) }
        }
        if Set(steps).count < steps.count { table.report("reauth", "must not name a step twice") }
        if let place = steps.firstIndex(of: .prompt), place < steps.count - 1 {
            table.report("reauth", "\"prompt\" must be the last step")
        }
        if steps.contains(.clientCredentials), ClientReader.writtenProofs(in: table).isEmpty {
            table.report(
                "reauth",
                "client_credentials requires a client secret, key or assertion"
            )
        }
        return steps
    }

    /// Reads `reauth_command`, which must be set exactly if `steps` use it.
    mutating func reauthenticationCommand(_ steps: [ReauthenticationStep]) -> [String] {
        let isWritten = table.has("reauth_command")
        let command = table.command("reauth_command") ?? []
        if steps.contains(.command), !isWritten {
            table.report("reauth_command", "required: reauth contains \"command\"")
        }
        if !steps.contains(.command), isWritten {
            table.report("reauth_command", "has no effect: reauth does not contain \"command\"")
        }
        return command
    }

    /// Reads `hosts`, the servers for which the tokens are meant.
    mutating func hosts() -> [String] {
        let hosts = table.strings("hosts") ?? []
        for host in hosts where HostRule(host) == nil {
            table.report(
                "hosts",
                "\"\(host)\" is not a host such as \"git.example.com\", \"*.example.com\" or \"user@git.example.com:8443\""
            )
        }
        return hosts
    }

    /// Reads `allow`; empty allows every program of this user.
    mutating func rules() -> [AllowRule] {
        guard let value = table.value("allow") else { return [] }
        guard case .array(let elements) = value.content else {
            table.report("allow", "must be an array of tables, such as [{ exe = \"/usr/bin/git\" }]")
            return []
        }
        return elements.compactMap { rule($0) }
    }

    private func rule(_ value: TOMLValue) -> AllowRule? {
        guard case .table(let content) = value.content else {
            table.problems.add(
                table.name(of: "allow"),
                at: value.position,
                "must contain tables such as { exe = \"/usr/bin/git\" } or { unit = \"backup.service\" }"
            )
            return nil
        }
        var reader = TableReader(
            content,
            path: table.name(of: "allow"),
            at: value.position,
            problems: table.problems
        )
        let executable = reader.path("exe", home: home)
        let unit = reader.string("unit")
        let listener = reader.string("proxy")
        let digest = digest(&reader)
        let confirms = reader.boolean("confirm") ?? false
        reader.refuseUnknownKeys()
        if confirms, !surroundings.canAskPerson {
            table.problems.add(
                reader.path,
                at: value.position,
                "confirm = true requires the command hooks.confirm"
            )
        }
        if !reader.has("exe"), !reader.has("unit"), !reader.has("proxy"), !confirms {
            table.problems.add(
                reader.path,
                at: value.position,
                "requires exe, unit, proxy or confirm = true"
            )
        }
        return AllowRule(
            executable: executable,
            digest: digest,
            unit: unit,
            listener: listener,
            asksForConfirmation: confirms
        )
    }

    /// Reads `sha256`, which requires `exe`.
    private func digest(_ reader: inout TableReader) -> String? {
        guard let digest = reader.string("sha256")?.lowercased() else { return nil }
        if !reader.has("exe") { reader.report("sha256", "requires exe") }
        let isDigest = digest.utf8.count == 64 && digest.allSatisfy(\.isHexDigit)
        if !isDigest { reader.report("sha256", "must be 64 hexadecimal digits, as sha256sum prints them") }
        return digest
    }
}
