// SPDX-License-Identifier: MIT

import ServerSettings
import TokenCore

/// `[fleet]`: the etcd cluster through which hosts share sessions, and the role of this host.
package struct FleetSettings: Equatable, Sendable {
    /// The name of the fleet, which its key also contains.
    package var name: String
    /// The members of etcd: at least one, without duplicates.
    package var endpoints: [EtcdEndpoint]
    /// The user of etcd, which is not a Unix user.
    package var user: User?
    /// A PEM file of root certificates for etcd, in addition to the system's (`ca_file`).
    package var authorityFile: String?
    /// The client certificate for TLS with etcd.
    package var certificate: Certificate?
    package var key: KeySource
    package var role: FleetRole = .keeper
    /// The name of this host, for display only.
    package var host: String
    /// The value of `takeover_patience`, see ``FleetTiming/takeoverTimeout``.
    package var takeoverTimeout: Duration = FleetTiming.defaultTakeoverTimeout

    /// A user of etcd with its password.
    package struct User: Equatable, Sendable {
        package var name: String
        package var password: PasswordSource

        package init(name: String, password: PasswordSource) {
            self.name = name
            self.password = password
        }
    }

    /// The source of the password, without a final line break.
    package enum PasswordSource: Equatable, Sendable {
        case file(String)
        /// A command, as argv, that prints the password.
        case command([String])
    }

    /// The files `certificate_file` and `certificate_key_file`, in PEM.
    package struct Certificate: Equatable, Sendable {
        package var file: String
        package var keyFile: String
    }

    /// The source of the fleet's key.
    package enum KeySource: Equatable, Sendable {
        case file(String)
        /// A command, as argv, that prints the key.
        case command([String])
        /// The name of a systemd credential.
        case credential(String)
    }

    /// The commands in this table.
    package var commands: [[String]] {
        var commands: [[String]] = []
        if case .command(let command)? = user?.password { commands.append(command) }
        if case .command(let command) = key { commands.append(command) }
        return commands
    }

    /// The files in this table, with their keys.
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
}
