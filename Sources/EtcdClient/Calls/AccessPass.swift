// SPDX-License-Identifier: MIT

/// The token that etcd gives to a user for name and password; whoever needs a new one meanwhile waits for the same.
actor AccessPass {
    private let user: EtcdDoor.User?
    private var token: String?
    private var renewal: Task<Result<String, EtcdFailure>, Never>?

    init(_ user: EtcdDoor.User?) {
        self.user = user
    }

    /// The present token, or a new one.
    ///
    /// - Parameters:
    ///   - refused: a token that etcd does not know any more.
    ///   - ask: has etcd give out a token.
    /// - Returns: `nil` if there is no user.
    /// - Throws: ``EtcdFailure``: why there is none.
    func token(
        besides refused: String? = nil,
        _ ask: @escaping @Sendable (String, [UInt8]) async throws(EtcdFailure) -> String
    ) async throws(EtcdFailure) -> String? {
        guard let user else { return nil }
        if let token, token != refused { return token }
        let renewal = renewal ?? renew(user, ask)
        self.renewal = renewal
        let result = await renewal.value
        if self.renewal == renewal {
            self.renewal = nil
            token = try? result.get()
        }
        return try result.get()
    }

    private func renew(
        _ user: EtcdDoor.User,
        _ ask: @escaping @Sendable (String, [UInt8]) async throws(EtcdFailure) -> String
    ) -> Task<Result<String, EtcdFailure>, Never> {
        Task {
            do throws(EtcdFailure) {
                return .success(try await ask(user.name, try await user.password()))
            } catch {
                return .failure(error)
            }
        }
    }
}
