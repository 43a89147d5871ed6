// SPDX-License-Identifier: MIT

import SecretMemory
import Synchronization
import TestSupport
import Testing
import TokenCore

@testable import SealedStore

/// Clocks that do not advance until a test moves them.
final class FixedClocks: Timekeeper {
    private let reading: Mutex<(now: Instant, wallTime: WallTime)>

    init(now: Instant = .seconds(10_000), wallTime: Int64 = 1_800_000_000) {
        reading = Mutex((now, WallTime(secondsSince1970: wallTime)))
    }

    var now: Instant { reading.withLock(\.now) }
    var wallTime: WallTime { reading.withLock(\.wallTime) }

    func set(now: Instant, wallTime: Int64) {
        reading.withLock { $0 = (now, WallTime(secondsSince1970: wallTime)) }
    }
}

/// One store in a directory of its own, opened as often as a test likes.
final class StoreFixture {
    let directory: TemporaryDirectory
    let clocks = FixedClocks()
    var boot = RandomID(high: 1, low: 2)

    init(_ directory: TemporaryDirectory = .inMemory) {
        self.directory = directory
    }

    var statePath: String { "\(directory.path)/state" }
    var runtimePath: String { "\(directory.path)/run" }
    var sessionsPath: String { "\(statePath)/sessions" }

    /// Opens the store without unlocking it.
    func open(_ files: any FileOperations = SystemFileOperations()) throws -> OpenStore {
        let memory = try SealedMemory()
        let store = try SessionStore(
            directory: try StoreDirectory(statePath, files: files),
            runtimeDirectory: runtimePath,
            memory: memory,
            timekeeper: clocks,
            boot: boot
        )
        return OpenStore(store: store, memory: memory)
    }

    /// Opens and unlocks the store.
    ///
    /// The first time, a key file is created.
    func unlocked(_ files: any FileOperations = SystemFileOperations()) throws -> (OpenStore, LoadedSessions)
    {
        let open = try open(files)
        if open.store.state == .uninitialized {
            try open.store.initialize(with: .keyFile(path: nil))
            return (open, LoadedSessions())
        }
        return (open, try open.store.unlockAutomatically())
    }

    /// The paths of the files with this extension.
    func records(_ role: String = "rec") -> [String] {
        Disk.names(sessionsPath).filter { $0.hasSuffix(".\(role)") }.map { "\(sessionsPath)/\($0)" }
    }
}

/// A store with sealed memory its secrets go to.
struct OpenStore {
    let store: SessionStore
    let memory: SealedMemory

    func secret(_ text: String, _ kind: SecretKind) throws -> SecretID {
        try Array(text.utf8).withUnsafeBytes { try memory.seal($0, as: kind) }
    }

    func text(_ secret: SecretID) throws -> String {
        try memory.open(secret) { String(decoding: $0, as: UTF8.self) }
    }

    /// A logged-in session with these tokens.
    func snapshot(
        refreshToken: String,
        accessToken: String = "access",
        idToken: String? = nil
    ) throws -> SessionSnapshot {
        let token = AccessToken(
            secret: try secret(accessToken, .accessToken),
            idToken: try idToken.map { text in
                IDToken(
                    secret: try secret(text, .idToken),
                    life: ValidityPeriod(obtainedAt: .seconds(9_000), expiresAt: .seconds(9_600))
                )
            },
            tokenType: "Bearer",
            scope: ["openid", "offline_access"],
            obtainedAt: .seconds(9_000),
            expiresAt: .seconds(12_600),
            jitter: 0.25
        )
        return SessionSnapshot(
            standing: .loggedIn,
            renewal: .refreshToken(try secret(refreshToken, .refreshToken)),
            tokens: [.primary: token],
            loggedInAt: WallTime(secondsSince1970: 1_799_999_000),
            tokenEndpoint: "https://id.example.com/token"
        )
    }

    /// Stores a session with this refresh token and expects that to succeed.
    func commitDurably(_ refreshToken: String, to session: SessionName = .work) throws {
        #expect(store.commit(session, try snapshot(refreshToken: refreshToken)) == .durable)
    }

    func refreshToken(of snapshot: SessionSnapshot) throws -> String? {
        guard case .refreshToken(let secret) = snapshot.renewal else { return nil }
        return try text(secret)
    }
}

extension SessionName {
    static func named(_ text: String) -> SessionName {
        guard let name = SessionName(text) else { fatalError("\(text) is no session name") }
        return name
    }

    static let work = SessionName.named("work")
    static let home = SessionName.named("home")
}

extension GuardedBytes {
    static func text(_ text: String) throws -> GuardedBytes {
        try Array(text.utf8).withUnsafeBytes { try GuardedBytes(copying: $0) }
    }
}

extension LoadedSession {
    var isInterrupted: Bool { interruption != nil }
}
