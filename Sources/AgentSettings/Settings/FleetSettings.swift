// SPDX-License-Identifier: MIT

import EtcdClient
import TokenCore

/// `[fleet]`: where the hosts of a fleet keep the sessions they share, and what this host is among them.
package struct FleetSettings: Equatable, Sendable {
    /// What people call the fleet; its key says the same.
    package var name: String
    /// At least one, no two alike.
    package var endpoints: [EtcdEndpoint]
    /// A user of etcd's own.
    package var user: User?
    /// `ca_file`: PEM file of certificates that are roots for etcd, beside the system's.
    package var authorityFile: String?
    /// Shown to etcd in the handshake.
    package var certificate: Certificate?
    package var key: KeySource
    package var role: FleetRole
    /// What people call this host; nothing else depends on it.
    package var host: String
    /// `takeover_patience`, see ``FleetTiming/patience``.
    package var patience: Duration

    package init(
        name: String,
        endpoints: [EtcdEndpoint],
        user: User? = nil,
        authorityFile: String? = nil,
        certificate: Certificate? = nil,
        key: KeySource,
        role: FleetRole = .keeper,
        host: String,
        patience: Duration = FleetTiming.defaultPatience
    ) {
        self.name = name
        self.endpoints = endpoints
        self.user = user
        self.authorityFile = authorityFile
        self.certificate = certificate
        self.key = key
        self.role = role
        self.host = host
        self.patience = patience
    }

    /// `user` with its password.
    package struct User: Equatable, Sendable {
        package var name: String
        package var password: Password

        package init(name: String, password: Password) {
            self.name = name
            self.password = password
        }
    }

    /// Where the password is; one line break at its end is no part of it.
    package enum Password: Equatable, Sendable {
        case file(String)
        /// argv of a program that prints it.
        case command([String])
    }

    /// `certificate_file` with `certificate_key_file`, PEM.
    package struct Certificate: Equatable, Sendable {
        package var file: String
        package var keyFile: String

        package init(file: String, keyFile: String) {
            self.file = file
            self.keyFile = keyFile
        }
    }

    /// How this host has the fleet's key.
    package enum KeySource: Equatable, Sendable {
        case file(String)
        /// argv of a program that prints it.
        case command([String])
        /// The name of a credential that systemd hands over.
        case credential(String)
    }

    /// The programs that it names.
    package var commands: [[String]] {
        var commands: [[String]] = []
        if case .command(let command)? = user?.password { commands.append(command) }
        if case .command(let command) = key { commands.append(command) }
        return commands
    }

    /// The files that it names, by their keys.
    package var files: [(key: String, path: String)] {
        var files: [(key: String, path: String)] = []
        if let authorityFile { files.append(("fleet.ca_file", authorityFile)) }
        if let certificate {
            files.append(("fleet.certificate_file", certificate.file))
            files.append(("fleet.certificate_key_file", certificate.keyFile))
        }
        if case .file(let path)? = user?.password { files.append(("fleet.password_file", path)) }
        if case .file(let path) = key { files.append(("fleet.fleet_key_file", path)) }
        return files
    }

    /// The keys that differ from `old`; `fleet` alone where there was no such table.
    package func keys(differingFrom old: FleetSettings?) -> [String] {
        guard let old else { return ["fleet"] }
        let differing: [(String, Bool)] = [
            ("name", name != old.name), ("endpoints", endpoints != old.endpoints),
            ("user", user?.name != old.user?.name), ("password", user?.password != old.user?.password),
            ("ca_file", authorityFile != old.authorityFile),
            ("certificate_file", certificate?.file != old.certificate?.file),
            ("certificate_key_file", certificate?.keyFile != old.certificate?.keyFile),
            ("fleet_key", key != old.key), ("role", role != old.role), ("host", host != old.host),
            ("takeover_patience", patience != old.patience),
        ]
        return differing.filter(\.1).map { "fleet.\($0.0)" }
    }
}
