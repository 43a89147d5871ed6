// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The secrets and URLs of the endpoints that this process serves to all programs of the user.
///
/// The secret of an endpoint is random and is stored in a file next to the agent's socket, and so is its URL.
struct EndpointSecrets: ~Copyable {
    /// The number of random bytes in a secret.
    private static let length = 32

    private let places: EndpointFilePaths
    private var secrets: [String: String] = [:]
    /// The files with the URLs, open and locked.
    private var locks: [String: Int32] = [:]

    init(besideSocket socket: String) {
        places = EndpointFilePaths(besideSocket: socket)
    }

    deinit {
        for name in secrets.keys { _ = unsafe unlink(places.secret(of: name)) }
        // The file stays, because the next process that serves the endpoint may already have opened it.
        for file in locks.values {
            ftruncate(file, 0)
            close(file)
        }
    }

    /// Sets the secret of every endpoint in `tables` that requires one; an existing secret is kept.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if another process serves one of the
    ///   endpoints.
    mutating func fill(_ tables: inout ListenersSetupMessage) throws(AgentError) {
        var listeners = tables.listeners ?? []
        for index in listeners.indices {
            guard let kind = listeners[index].kind, kind != .proxy, let name = listeners[index].name else {
                continue
            }
            try claim(name)
            guard kind.hasSecret else { continue }
            let secret = if let known = secrets[name] { known } else { try EndpointSecrets.random() }
            secrets[name] = secret
            listeners[index].secret = secret
        }
        tables.listeners = listeners
    }

    /// Locks the endpoint `name`, so that no other process serves it to all programs.
    private mutating func claim(_ name: String) throws(AgentError) {
        guard locks[name] == nil else { return }
        try PrivateDirectory.prepare(places.directory)
        let path = places.address(of: name)
        let file = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw AgentError(.internal, "\(path): \(systemMessage(errno))") }
        // Without support for locks, no other process can be known to serve the endpoint.
        guard flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else {
            close(file)
            throw AgentError(
                .misconfigured,
                "another tokenctl proxy already serves the endpoint \(name)",
                remedy: .retry("after stopping the other tokenctl proxy")
            )
        }
        locks[name] = file
    }

    /// Writes the files after the endpoints were served at `addresses`.
    borrowing func write(_ addresses: [ListeningPlaceMessage]) throws(AgentError) {
        for (name, secret) in secrets {
            let path = places.secret(of: name)
            try PrivateFile.replace(path, from: path + ".new", with: secret)
        }
        for (name, file) in locks {
            ftruncate(file, 0)
            lseek(file, 0, SEEK_SET)
            // A removed table has no URL.
            let url = addresses.first { $0.kind != .proxy && $0.name?.bytewise == name.bytewise }?.url ?? ""
            let error = unsafe Array(url.utf8).withUnsafeBytes { unsafe writeAll($0, to: file) }
            guard error == 0 else {
                throw AgentError(.internal, "\(places.address(of: name)): \(systemMessage(error))")
            }
        }
    }

    /// Returns a random secret as one word.
    static func random() throws(AgentError) -> String {
        var bytes = [UInt8](repeating: 0, count: length)
        guard unsafe getentropy(&bytes, bytes.count) == 0 else {
            throw AgentError(.internal, "cannot get random bytes: \(systemMessage(errno))")
        }
        return Base64.urlEncoded(bytes)
    }
}

extension ProxyListenerKind {
    /// Whether programs must present a secret.
    var hasSecret: Bool { self == .awsContainer || self == .azureIdentity }
}
