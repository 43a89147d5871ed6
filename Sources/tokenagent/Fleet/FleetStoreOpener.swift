// SPDX-License-Identifier: MIT

import AgentServer
import AgentSettings
import EtcdClient
import FleetStore
import NIOCore
import SealedStore
import SecretMemory
import SystemCalls
import Text
import TokenCore

/// The membership of this host in a fleet, which opens the shared store according to the configuration.
struct FleetStoreOpener: Sendable {
    /// The time limit of a command that prints a key or a password: 30 seconds.
    private static let timeLimit = Duration.seconds(30)

    let settings: FleetSettings
    let memory: SealedMemory
    let timekeeper: any Timekeeper
    let commands: any CommandRunning
    let eventLoop: any EventLoop
    /// The directory in which the service manager puts credentials.
    let credentials: String?

    init(
        _ settings: FleetSettings,
        _ opened: OpenedStore,
        _ threads: AgentThreads,
        _ environment: [String: String]
    ) {
        self.settings = settings
        memory = opened.memory
        timekeeper = opened.timekeeper
        commands = threads.commands
        eventLoop = threads.network
        credentials = environment["CREDENTIALS_DIRECTORY"]
    }

    /// Returns the agent's access to its fleet.
    ///
    /// `vault` is the store's ID in hexadecimal, which identifies this host in the fleet.
    func port(vault: String?) -> FleetDependencies {
        // The store's ID is random and was created once on this host.
        let host = vault.flatMap { UInt64($0.prefix(16), radix: 16) } ?? .random(in: 1 ... .max)
        return FleetDependencies(
            name: settings.name,
            label: settings.host,
            role: settings.role,
            host: host,
            takeoverTimeout: settings.takeoverTimeout
        ) { () async throws(FleetStoreError) in
            try await open()
        }
    }

    private func open() async throws(FleetStoreError) -> any FleetSharing {
        let keys = try await keys()
        guard keys.label.utf8.elementsEqual(settings.name.utf8) else {
            throw FleetStoreError(
                .unavailable,
                "the key is for fleet \(keys.label), but fleet.name is \(settings.name)",
                remedy: .setAndRestart(
                    "the key of fleet \(settings.name) on this host"
                ),
                isMistake: true
            )
        }
        return FleetStore(
            client: try client(),
            keys: keys,
            memory: memory,
            timekeeper: timekeeper
        )
    }

    // MARK: Keys

    private func keys() async throws(FleetStoreError) -> FleetKeys {
        let delivered: [UInt8]
        let source: String
        switch settings.key {
        case .file(let path):
            return try FleetStoreOpener.opening(path) { () throws(FleetKeyError) in
                try FleetKeyFile.read(path, as: settings.role)
            }
        case .command(let command):
            delivered = try await output(of: command, for: "fleet_key_command")
            source = "the output of fleet.fleet_key_command"
        case .credential(let name):
            guard let credentials else {
                throw FleetStoreError(
                    .unavailable,
                    "fleet.fleet_key_credential: CREDENTIALS_DIRECTORY is not set",
                    remedy: .setAndRestart(
                        "LoadCredential=\(name):FILE in the agent's unit, or fleet.fleet_key_file"
                    ),
                    isMistake: true
                )
            }
            source = "\(credentials)/\(name)"
            delivered = try contents(of: source, for: "fleet_key_credential", sharedWith: .nobody)
        }
        return try FleetStoreOpener.opening(source) { () throws(FleetKeyError) in
            guard let text = try? GuardedBytes.guarding(delivered) else { throw .outOfMemory }
            return try FleetKeyFile.keys(in: text, as: settings.role)
        }
    }

    /// Runs `open`, and converts its error.
    ///
    /// `source` is the beginning of the error's sentence.
    private static func opening(
        _ source: String,
        _ open: () throws(FleetKeyError) -> FleetKeys
    ) throws(FleetStoreError) -> FleetKeys {
        do throws(FleetKeyError) {
            return try open()
        } catch {
            throw FleetStoreError(
                .unavailable,
                "\(source) \(error.sentence)",
                remedy: error.remedy,
                isMistake: error.isMistake
            )
        }
    }

    // MARK: Access to etcd

    private func client() throws(FleetStoreError) -> EtcdClient {
        let door = try door()
        do throws(EtcdFailure) {
            return try EtcdClient(settings.endpoints, door, on: eventLoop)
        } catch {
            throw FleetStoreError(error)
        }
    }

    private func door() throws(FleetStoreError) -> EtcdCredentials {
        var door = EtcdCredentials()
        door.renewed = { try? self.door() }
        door.authorities = try settings.authorityFile.map { path throws(FleetStoreError) in
            try contents(of: path, for: "ca_file", sharedWith: .readers)
        }
        door.identity = try settings.certificate.map { certificate throws(FleetStoreError) in
            EtcdCredentials.CertificateAndKey(
                certificates: try contents(
                    of: certificate.file,
                    for: "certificate_file",
                    sharedWith: .readers
                ),
                key: try contents(of: certificate.keyFile, for: "certificate_key_file", sharedWith: .nobody)
            )
        }
        door.user = settings.user.map { user in
            EtcdCredentials.User(name: user.name) { () async throws(EtcdFailure) in
                do throws(FleetStoreError) {
                    return try await password(user.password)
                } catch {
                    throw .noPassword(error.sentence, remedy: error.remedy, isMistake: error.isMistake)
                }
            }
        }
        return door
    }

    private func password(_ password: FleetSettings.PasswordSource) async throws(FleetStoreError) -> [UInt8] {
        var bytes: [UInt8]
        switch password {
        case .file(let path): bytes = try contents(of: path, for: "password_file", sharedWith: .nobody)
        case .command(let command): bytes = try await output(of: command, for: "password_command")
        }
        bytes.removeLineEnd()
        return bytes
    }

    // MARK: Files and commands

    private func output(of command: [String], for key: String) async throws(FleetStoreError) -> [UInt8] {
        do throws(CommandFailure) {
            return try await commands.output(of: command, within: FleetStoreOpener.timeLimit)
        } catch {
            throw FleetStoreError(
                .unavailable,
                "fleet.\(key): \(error.message)",
                remedy: .setAndRestart(
                    "fleet.\(key) to a command that works for the agent's user"
                )
            )
        }
    }

    private func contents(
        of path: String,
        for key: String,
        sharedWith access: SmallFile.Access
    ) throws(FleetStoreError) -> [UInt8] {
        do throws(SmallFile.Failure) {
            return try SmallFile.read(path, sharedWith: access)
        } catch {
            throw FleetStoreError(
                .unavailable,
                "fleet.\(key): \(path): \(error.message)",
                remedy: error.remedy
                    ?? .setAndRestart("fleet.\(key) to an existing file"),
                isMistake: true
            )
        }
    }
}
