// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import SecretMemory
import Text

/// A provider of a secret outside of the agent; the raw value is stored on disk.
package enum ExternalProvider: UInt8, CaseIterable, Sendable {
    /// The service manager; the name is the credential's.
    case systemdCredential = 1
    /// A command; the name contains its arguments, separated by NUL.
    case command = 4

    package var kind: SlotKind {
        switch self {
        case .systemdCredential: .systemdCredential
        case .command: .command
        }
    }

    /// The remedy if there is no secret.
    var remedy: Remedy {
        switch self {
        case .systemdCredential:
            // An agent that is no unit yet has to become one.
            .set("LoadCredentialEncrypted= in the agent's unit")
                .followed(
                    by: AgentRestart.ofUnit ?? "tokenctl shutdown && systemctl --user start tokenagent"
                )
        case .command: .set("unlock_command in [vault] to a command that prints a key")
        }
    }

    /// Reads the secret called `name`, without one trailing line break, which is not part of a typed secret.
    ///
    /// Blocks for as long as a command runs.
    package func secret(_ name: String, by access: some ExternalAccess) throws(StoreError) -> GuardedBytes {
        // Without systemd, no unit can have the credential.
        let remedy =
            self == .systemdCredential && !access.hasSystemd
            ? .retry("on a system where systemd starts the agent") : remedy
        func failure(_ reason: String, isFinal: Bool = false) -> StoreError {
            let subject = String(name.prefix { $0 != "\0" })
            return .noExternalSecret(
                kind,
                name: subject,
                reason: reason,
                remedy: remedy,
                isFinal: isFinal
            )
        }
        var bytes: [UInt8]
        var emptiness = "no output"
        switch self {
        case .systemdCredential:
            guard let directory = access.credentials else {
                throw failure("CREDENTIALS_DIRECTORY is not set", isFinal: true)
            }
            guard !name.contains("/"), name != ".." else {
                throw failure("a credential's name cannot contain /", isFinal: true)
            }
            let path = "\(directory)/\(name)"
            emptiness = "\(path) is empty"
            let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { throw failure("\(path): \(unsafe String(cString: strerror(errno)))") }
            defer { close(file) }
            // One additional byte shows that the file is longer than any key.
            bytes = [UInt8](repeating: 0, count: KeyFile.maximumCount + 1)
            let count = unsafe read(file, &bytes, bytes.count)
            guard count >= 0 else { throw failure("\(path): \(unsafe String(cString: strerror(errno)))") }
            guard count <= KeyFile.maximumCount else {
                bytes.wipe()
                throw failure("\(path) is longer than \(KeyFile.maximumCount) bytes")
            }
            bytes.removeSubrange(count...)
        case .command:
            let words = name.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
            bytes = try access.output(of: words, failure)
        }
        let secret = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
        guard !secret.isEmpty else { throw failure(emptiness) }
        return try .guarding(secret)
    }
}

/// The agent's ways to secrets outside of the store.
package protocol ExternalAccess: Sendable {
    /// The directory of the service manager's credentials, or `nil` if there is none.
    var credentials: String? { get }
    /// Whether systemd runs the machine (sd_booted(3)) or this agent.
    var hasSystemd: Bool { get }

    /// Runs a command and returns its output.
    ///
    /// - Throws: what `failure` returns for a reason that may pass (`false`) or may not (`true`).
    func output(
        of command: [String],
        _ failure: (String, Bool) -> StoreError
    ) throws(StoreError) -> [UInt8]
}
