// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The secrets that programs show at endpoints: random, one for each endpoint, in files beside the agent's socket.
struct EndpointSecrets: ~Copyable {
    /// Bytes of chance.
    private static let length = 32

    private let directory: String
    private var secrets: [String: String] = [:]

    init(besideSocket socket: String) {
        directory = EndpointSecrets.directory(besideSocket: socket)
    }

    deinit {
        for name in secrets.keys { _ = unsafe unlink("\(directory)/\(name)") }
    }

    /// The directory that holds the files.
    private static func directory(besideSocket socket: String) -> String {
        (socket.lastIndex(of: "/").map { String(socket[..<$0]) } ?? "") + "/endpoint"
    }

    /// Where the secret of the endpoint `name` is while it is served.
    static func path(of name: String, besideSocket socket: String) -> String {
        "\(directory(besideSocket: socket))/\(name)"
    }

    /// Gives every endpoint of `tables` that needs one its secret, the same as before if it has one.
    mutating func fill(_ tables: inout ListenersMessage) throws(AgentError) {
        var listeners = tables.listeners ?? []
        for index in listeners.indices where listeners[index].kind?.hasSecret == true {
            let name = listeners[index].name ?? ""
            let secret = if let known = secrets[name] { known } else { try EndpointSecrets.random() }
            secrets[name] = secret
            listeners[index].secret = secret
        }
        tables.listeners = listeners
    }

    /// Writes the files, now that the endpoints are served.
    borrowing func write() throws(AgentError) {
        guard !secrets.isEmpty else { return }
        try PrivateDirectory.prepare(directory)
        for (name, secret) in secrets {
            let draft = "\(directory)/\(name).new"
            _ = unsafe unlink(draft)
            let file = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw AgentError(.internal, "\(draft): \(systemMessage(errno))") }
            let error = unsafe Array(secret.utf8).withUnsafeBytes { unsafe writeAll($0, to: file) }
            close(file)
            guard error == 0, unsafe rename(draft, "\(directory)/\(name)") == 0 else {
                throw AgentError(.internal, "\(draft): \(systemMessage(error == 0 ? errno : error))")
            }
        }
    }

    /// The secret of an endpoint that this process serves.
    borrowing func secret(of name: String) -> String? { secrets[name] }

    /// The secret of an endpoint that another process of this user serves.
    static func standing(_ name: String, besideSocket socket: String) -> String? {
        let file = unsafe open(
            path(of: name, besideSocket: socket),
            O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        )
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_IFMT == S_IFREG
        else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = unsafe read(file, &bytes, bytes.count)
        guard count > 0, bytes[..<count].isVisibleWord else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private static func random() throws(AgentError) -> String {
        var bytes = [UInt8](repeating: 0, count: length)
        guard unsafe getentropy(&bytes, bytes.count) == 0 else {
            throw AgentError(.internal, "no random bytes: \(systemMessage(errno))")
        }
        return Base64.urlEncoded(bytes)
    }
}

extension ListenerKind {
    /// Whether programs have to show a secret.
    var hasSecret: Bool { self == .awsContainer || self == .azureIdentity }
}
