// SPDX-License-Identifier: MIT

/// A cache for the token that etcd issues for a user's name and password.
///
/// Concurrent requests for a new token share one call.
actor EtcdAuthTokenCache {
    /// The maximum time to obtain a new token: 30 seconds, because a program may print the password.
    ///
    /// After that, the next call tries again.
    private static let maximumRenewal = Duration.seconds(30)
    /// The minimum time between two calls of ``doubt(_:)`` that drop a token: 60 seconds.
    private static let doubtPause = Duration.seconds(60)

    private let user: EtcdCredentials.User?
    private var token: String?
    /// The time at which ``doubt(_:)`` last dropped a token.
    private var doubtedAt: ContinuousClock.Instant?
    private var renewal: Task<Result<String, EtcdFailure>, Never>?

    init(_ user: EtcdCredentials.User?) {
        self.user = user
    }

    /// Returns the cached token, or obtains a new one.
    ///
    /// - Parameters:
    ///   - refused: a token that etcd has rejected.
    ///   - end: the caller's deadline. Other waiters still get the token.
    ///   - ask: requests a token from etcd for a name and a password.
    /// - Returns: the token, or `nil` if no user is configured.
    /// - Throws: ``EtcdFailure`` if there is no token.
    func token(
        besides refused: String? = nil,
        until end: ContinuousClock.Instant,
        _ ask: @escaping @Sendable (String, [UInt8]) async throws(EtcdFailure) -> String
    ) async throws(EtcdFailure) -> String? {
        guard let user else { return nil }
        if let token, token != refused { return token }
        let renewal = renewal ?? renew(user, ask)
        self.renewal = renewal
        return try await EtcdAuthTokenCache.result(of: renewal, until: end).get()
    }

    /// Drops the token `refused`, which etcd has rejected.
    func forget(_ refused: String?) {
        if token == refused { token = nil }
    }

    /// Drops the cached token.
    func forget() { token = nil }

    /// Drops the token `suspect` after a call with it got no response, at most once a minute.
    ///
    /// A token contains the index of etcd's log at which it was issued. A member whose log has not reached
    /// that index, as after a restore, does not respond until it has (`authStore.isValidSimpleToken`).
    /// Usually etcd is just slow, and checking a password takes etcd much time.
    func doubt(_ suspect: String?) {
        guard token == suspect, doubtedAt.map({ .now - $0 > EtcdAuthTokenCache.doubtPause }) ?? true else {
            return
        }
        doubtedAt = .now
        token = nil
    }

    private func renew(
        _ user: EtcdCredentials.User,
        _ ask: @escaping @Sendable (String, [UInt8]) async throws(EtcdFailure) -> String
    ) -> Task<Result<String, EtcdFailure>, Never> {
        let asking = Task.detached { () async -> Result<String, EtcdFailure> in
            do throws(EtcdFailure) {
                return .success(try await ask(user.name, try await user.password()))
            } catch {
                return .failure(error)
            }
        }
        return Task {
            let result = await EtcdAuthTokenCache.result(
                of: asking,
                until: .now + EtcdAuthTokenCache.maximumRenewal
            )
            asking.cancel()
            renewal = nil
            token = try? result.get()
            return result
        }
    }

    /// Waits for the result of `work` until `end` or until the caller's task is cancelled.
    ///
    /// `work` continues.
    private static func result(
        of work: Task<Result<String, EtcdFailure>, Never>,
        until end: ContinuousClock.Instant
    ) async -> Result<String, EtcdFailure> {
        let (results, mark) = AsyncStream.makeStream(of: Result<String, EtcdFailure>.self)
        Task {
            mark.yield(await work.value)
            mark.finish()
        }
        let alarm = Task {
            try? await Task.sleep(until: end, clock: .continuous)
            mark.finish()
        }
        defer { alarm.cancel() }
        for await result in results { return result }
        return .failure(.unreachable("timed out waiting for an authentication token"))
    }
}
