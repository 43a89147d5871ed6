// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import ServerSettings
import Text
import TokenCore

/// A reader of `[fleet]`.
struct FleetReader {
    private var table: TableReader
    private let home: String?

    init(_ table: TableReader, home: String?) {
        self.table = table
        self.home = home
    }

    /// Reads the fleet, or returns `nil` with the reasons in the problem list.
    mutating func read() -> FleetSettings? {
        let name = label(
            table.required("name", "name of the fleet, as given to tokenctl fleet init"),
            "name"
        )
        let endpoints = endpoints()
        let user = user()
        let authority = table.path("ca_file", home: home)
        let certificate = certificate()
        let key = key()
        let role = table.word("role", FleetRole.self) ?? .keeper
        let host = host()
        // A shorter wait would end before the lease of the other host expires.
        let range = Duration.seconds(30)...Duration.seconds(86_400)
        let takeoverTimeout = table.duration("takeover_patience", in: range, "30s to 1d")
        table.refuseUnknownKeys()
        guard let name, let key, let host, !endpoints.isEmpty else { return nil }
        return FleetSettings(
            name: name,
            endpoints: endpoints,
            user: user,
            authorityFile: authority,
            certificate: certificate,
            key: key,
            role: role,
            host: host,
            takeoverTimeout: takeoverTimeout ?? FleetTiming.defaultTakeoverTimeout
        )
    }

    /// Returns `text` if it is a valid name of a fleet or host, otherwise reports it.
    private func label(_ text: String?, _ key: String) -> String? {
        guard let text else { return nil }
        guard SessionName(text) != nil else {
            table.report(
                key,
                "must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
            )
            return nil
        }
        return text
    }

    private mutating func host() -> String? {
        guard !table.has("host") else { return label(table.string("host"), "host") }
        let machine = FleetReader.machineName
        guard let machine, SessionName(machine) != nil else {
            let reason =
                machine.map { "the machine's name \"\($0)\" is not a valid host name" }
                ?? "the machine has no name"
            table.report("host", "required: \(reason)")
            return nil
        }
        return machine
    }

    /// The host name known to the kernel.
    private static var machineName: String? {
        // 64 bytes and a terminating zero (gethostname(2), HOST_NAME_MAX).
        var bytes = [CChar](repeating: 0, count: 65)
        guard unsafe gethostname(&bytes, bytes.count) == 0 else { return nil }
        return String(validating: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: etcd

    private mutating func endpoints() -> [EtcdEndpoint] {
        if !table.has("endpoints") {
            table.report(
                "endpoints",
                "required: endpoints of etcd, such as [\"https://etcd1.example.com:2379\"]"
            )
        }
        guard let texts = table.strings("endpoints") else { return [] }
        if texts.isEmpty { table.report("endpoints", "must contain at least one endpoint of etcd") }
        var endpoints: [EtcdEndpoint] = []
        for text in texts {
            guard let endpoint = EtcdEndpoint(text) else {
                table.report("endpoints", FleetReader.refusal(of: text))
                continue
            }
            if endpoints.contains(endpoint) { table.report("endpoints", "names \(endpoint.origin) twice") }
            endpoints.append(endpoint)
        }
        return endpoints
    }

    private static func refusal(of text: String) -> String {
        if let address = ServerAddress(url: text), address.isClear {
            return "\"\(text)\" must begin with https://: plain http is allowed only for 127.0.0.1 and [::1]"
        }
        if text.utf8.filter({ $0 == UInt8(ascii: ":") }).count > 2, !text.utf8.contains(UInt8(ascii: "[")) {
            return "\"\(text)\" requires brackets around its IPv6 address, as in \"https://[fd00::1]:2379\""
        }
        return "\"\(text)\" is not an endpoint such as \"https://etcd1.example.com:2379\""
    }

    private mutating func user() -> FleetSettings.User? {
        let name = table.string("user")
        let keys = ["password_file", "password_command"]
        let isClear = table.permitsOne(of: keys)
        let file = table.path("password_file", home: home)
        let command = table.command("password_command")
        let written = keys.first { table.has($0) }
        if let written, !table.has("user") { table.report(written, "has no effect without user") }
        guard let name, isClear else { return nil }
        if written == nil { table.report("user", "requires password_file or password_command") }
        let password = file.map { FleetSettings.PasswordSource.file($0) } ?? command.map { .command($0) }
        return password.map { FleetSettings.User(name: name, password: $0) }
    }

    private mutating func certificate() -> FleetSettings.Certificate? {
        let file = table.path("certificate_file", home: home)
        let keyFile = table.path("certificate_key_file", home: home)
        let keys = ["certificate_file", "certificate_key_file"]
        for (key, other) in zip(keys, keys.reversed()) where table.has(key) && !table.has(other) {
            table.report(key, "requires \(other)")
        }
        guard let file, let keyFile else { return nil }
        return FleetSettings.Certificate(file: file, keyFile: keyFile)
    }

    // MARK: The fleet's key

    private mutating func key() -> FleetSettings.KeySource? {
        let keys = ["fleet_key_file", "fleet_key_command", "fleet_key_credential"]
        let isClear = table.permitsOne(of: keys)
        let file = table.path("fleet_key_file", home: home)
        let command = table.command("fleet_key_command")
        let credential = credential()
        guard keys.contains(where: { table.has($0) }) else {
            table.report(
                "fleet_key_file",
                "required: key file of the fleet",
                .run("tokenctl fleet init --name NAME --key-file FILE")
            )
            return nil
        }
        guard isClear else { return nil }
        return file.map { .file($0) } ?? command.map { .command($0) } ?? credential.map { .credential($0) }
    }

    /// Reads the name of a systemd credential, which is a file in systemd's credentials directory.
    private mutating func credential() -> String? {
        guard let name = table.string("fleet_key_credential") else { return nil }
        guard !name.utf8.contains(UInt8(ascii: "/")), name != ".", name != ".." else {
            table.report("fleet_key_credential", "must be the name of a credential, not a path")
            return nil
        }
        return name
    }
}
