// SPDX-License-Identifier: MIT

import NIOCore
import NIOPosix
import ServerSettings
import TestSupport
import Text

@testable import EtcdClient

/// An etcd of Debian's, with as many members as a test wants, and clients of it.
struct RealEtcd: Sendable {
    static let script = ProviderScript("etcd.py")

    let work: TemporaryDirectory
    let endpoints: [EtcdEndpoint]
    private let state: JSONObject

    /// Starts one with these options of the script, and stops it when `body` has ended.
    static func whileRunning(
        _ options: [String] = [],
        _ body: (RealEtcd) async throws -> Void
    ) async throws {
        try await script.whileRunning(options) { work, state in
            let endpoints = state["endpoints"]?.array?.compactMap(\.string) ?? []
            try await body(
                RealEtcd(work: work, endpoints: endpoints.compactMap(EtcdEndpoint.init), state: state)
            )
        }
    }

    /// Has the script do something to it.
    @discardableResult
    func order(_ words: String...) async throws -> String {
        let result = try await Self.script.run([work.path] + words)
        guard result.status == 0 else { throw ProviderScript.Failure.notStarted(result.standardError) }
        return result.standardOutput
    }

    /// A client whose first endpoint is the one with this index.
    func client(
        first: Int = 0,
        user: String? = nil,
        password: String? = nil,
        certificate: String? = "client"
    ) throws -> EtcdClient {
        let door = door(user: user, password: password, certificate: certificate)
        return try EtcdClient(endpoints, door, on: .testing, first: first)
    }

    func door(
        user: String? = nil,
        password: String? = nil,
        certificate: String? = "client"
    ) -> EtcdCredentials {
        let password = Array((password ?? "\(user ?? "")-password-1").utf8)
        return EtcdCredentials(
            authorities: state["ca"]?.string.flatMap(File.bytes),
            identity: certificate.flatMap(identity),
            user: user.map { EtcdCredentials.User(name: $0) { () throws(EtcdFailure) in password } }
        )
    }

    private func identity(_ name: String) -> EtcdCredentials.CertificateAndKey? {
        let files = state["certs"]?.object?[name]?.object
        guard let certificates = files?["cert"]?.string.flatMap(File.bytes),
            let key = files?["key"]?.string.flatMap(File.bytes)
        else { return nil }
        return EtcdCredentials.CertificateAndKey(certificates: certificates, key: key)
    }
}

extension EtcdClient {
    /// Runs `body` with the client, and closes its connections.
    func whileOpen(_ body: (EtcdClient) async throws -> Void) async throws {
        do {
            try await body(self)
        } catch {
            await shutDown()
            throw error
        }
        await shutDown()
    }

    func put(
        _ key: String,
        _ value: String,
        lease: Int64? = nil,
        within time: Duration = callTime
    ) async throws {
        let change = EtcdTransaction.Change.put(key: Array(key.utf8), value: Array(value.utf8), lease: lease)
        _ = try await transact(EtcdTransaction(if: [], then: [change]), within: time)
    }

    func value(_ key: String) async throws -> String? {
        try await range(EtcdKeyRange(key: Array(key.utf8))).content.pairs.first
            .map { String(decoding: $0.value, as: UTF8.self) }
    }
}

extension EventLoopGroup where Self == MultiThreadedEventLoopGroup {
    /// The loops of all tests.
    static var testing: MultiThreadedEventLoopGroup { .singleton }
}
