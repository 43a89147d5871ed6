// SPDX-License-Identifier: MIT

import EtcdClient
import NIOPosix
import SealedStore
import SecretMemory
import ServerSettings
import TestSupport
import Text
import TokenCore

@testable import FleetStore

/// One host of a fleet at a real etcd.
struct StoreHost {
    static let etcd = ProviderScript("etcd.py")
    static let session: SessionName = {
        guard let name = SessionName("work") else { preconditionFailure("work is no session name") }
        return name
    }()

    let store: FleetStore
    let memory: SealedMemory
    let time = ManualTimekeeper()
    let binding: FleetLoginSettings

    /// Starts etcd, and stops it when `body` has ended; `body` gets what makes a host with these keys.
    static func whileRunning(
        _ body: ((FleetKeys, String) throws -> StoreHost) async throws -> Void
    ) async throws {
        try await etcd.whileRunning { _, state in
            let endpoints = (state["endpoints"]?.array ?? []).compactMap(\.string).compactMap(
                EtcdEndpoint.init
            )
            try await body { keys, client in try StoreHost(keys, endpoints, client) }
        }
    }

    init(
        _ keys: FleetKeys,
        _ endpoints: [EtcdEndpoint],
        _ client: String,
        silence: Duration = EtcdWatch.silence
    ) throws {
        memory = try SealedMemory()
        binding = FleetLoginSettings(
            kind: "oidc",
            issuer: "https://id.example.com",
            client: client,
            endpoint: ""
        )
        store = FleetStore(
            client: try EtcdClient(endpoints, EtcdCredentials(), on: MultiThreadedEventLoopGroup.singleton),
            keys: keys,
            memory: memory,
            timekeeper: time,
            silence: silence
        )
    }

    /// A login with these tokens.
    func login(_ refreshToken: String, _ accessToken: String) throws -> SessionSnapshot {
        let token = AccessToken(
            secret: try secret(accessToken, .accessToken),
            idToken: nil,
            tokenType: "Bearer",
            scope: ["openid"],
            obtainedAt: time.now,
            expiresAt: time.now + .seconds(3_600),
            jitter: 0.5
        )
        return SessionSnapshot(
            standing: .loggedIn,
            renewal: .refreshToken(try secret(refreshToken, .refreshToken)),
            tokens: [.primary: token],
            loggedInAt: time.wallTime,
            tokenEndpoint: "https://id.example.com/token"
        )
    }

    private func secret(_ text: String, _ kind: SecretKind) throws -> SecretID {
        try Array(text.utf8).withUnsafeBytes { try memory.seal($0, as: kind) }
    }

    func text(_ secret: SecretID) throws -> String {
        try memory.open(secret) { String(decoding: $0, as: UTF8.self) }
    }

    func look() async throws -> FleetReadResult { try await store.look(at: Self.session, since: 0) }

    /// Carries out a transaction decided on `readResult`; returns whether its conditions held.
    @discardableResult
    func carryOut(
        _ transaction: FleetTransaction,
        seen readResult: FleetReadResult,
        _ contents: [AttemptID: SessionSnapshot] = [:],
        lease: FleetLease? = nil
    ) async throws -> Bool {
        let sealed = try store.seal(
            transaction,
            of: Self.session,
            as: binding,
            seen: readResult,
            contents: contents,
            lease: lease
        )
        return try await store.transact(sealed).isDone
    }
}

extension FleetHeader {
    static let first = FleetHeader(
        lineage: Lineage(number: 1, id: 7),
        generation: 3,
        attempt: AttemptID(host: 1, random: 2),
        status: .live,
        proven: 2,
        tokenMark: 99,
        cluster: 5
    )
}
