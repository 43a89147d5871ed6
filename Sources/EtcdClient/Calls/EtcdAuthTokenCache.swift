// SPDX-License-Identifier: MIT

/// The token that etcd gives to a user for name and password; whoever needs a new one meanwhile waits for the same.
actor EtcdAuthTokenCache {
    /// How long a new token may take, after which another call tries anew: a program may print the password.
    private static let longestRenewal = Duration.seconds(30)
    /// Between two tokens that are given up without a refusal.
    private static let doubtPause = Duration.seconds(60)

    private let user: EtcdCredentials.User?
    private var token: String?
    /// When a token was last given up although nobody had refused it.
    private var doubtedAt: ContinuousClock.Instant?
    private var renewal: Task<Result<String, EtcdFailure>, Never>?

    init(_ user: EtcdCredentials.User?) {
        self.user = user
    }

    /// The present token, or a new one.
    ///
    /// - Parameters:
    ///   - refused: a token that etcd does not know any more.
    ///   - end: when the caller waits no longer; whoever else waits still gets the token.
    ///   - ask: has etcd give out a token.
    /// - Returns: `nil` if there is no user.
    /// - Throws: ``EtcdFailure``: why there is none.
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

    /// etcd does not know `refused` any more: the next one who needs a token gets another one.
    func forget(_ refused: String?) {
        if token == refused { token = nil }
    }

    /// The next one who needs a token gets another one, whatever the present one is.
    func forget() { token = nil }

    /// A call with `suspect` has had no answer.
    ///
    /// A token says at which entry of etcd's log it was given, and a member that is not as far, as after a restore, answers
    /// nothing until it is (`authStore.isValidSimpleToken`). Most often etcd is just slow, and a password costs it much time.
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
                until: .now + EtcdAuthTokenCache.longestRenewal
            )
            asking.cancel()
            renewal = nil
            token = try? result.get()
            return result
        }
    }

    /// What `work` brings, waited for until `end` or until the caller's task is cancelled; the work goes on.
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
        return .failure(.unreachable("there is no token for the user in time"))
    }
}
