// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// Authorization servers simulated by a test, call by call.
///
/// Every call waits until the test takes it with a `next…` method and answers it. A test therefore always
/// knows which calls are in flight. A call that is never taken never ends.
package final class FakeServing: AuthorizationServing {
    /// A call that waits for the test's result.
    package struct Call<Request: Sendable, Outcome: Sendable>: Sendable {
        package let session: SessionName
        package let request: Request
        fileprivate let continuation: CheckedContinuation<Outcome, Never>

        /// Ends the call.
        ///
        /// Must be called exactly once.
        package func answer(_ outcome: Outcome) {
            continuation.resume(returning: outcome)
        }
    }

    package typealias Refresh = Call<RefreshRequest, RefreshOutcome>
    package typealias LogIn = Call<(LoginRequest, any LoginPrompting), LoginOutcome>
    package typealias Revocation = Call<RevocationRequest, RevocationOutcome>

    private let refreshes = CallQueue<Refresh>()
    private let logIns = CallQueue<LogIn>()
    private let revocations = CallQueue<Revocation>()

    private let returns = Atomic(0)
    private let forgotten = Atomic(0)

    package init() {}

    /// The number of times the network came back.
    package var networkReturns: Int { returns.load(ordering: .relaxed) }

    /// The number of times a client secret was dropped.
    package var forgottenSecrets: Int { forgotten.load(ordering: .relaxed) }

    package func forgetClientSecret(of session: SessionName) async {
        forgotten.add(1, ordering: .relaxed)
    }

    /// Returns the request and the numbers of the secrets, so that a test sees the arguments.
    package func proof(for tokenRequest: ProofRequest, showing token: SecretID, by key: SecretID) -> String? {
        let words = [
            tokenRequest.method, tokenRequest.target, tokenRequest.nonce ?? "-", "\(token.rawValue)",
            "\(key.rawValue)",
        ]
        return words.joined(separator: " ")
    }

    package func networkReturned() {
        returns.add(1, ordering: .relaxed)
    }

    /// Waits for the next refresh.
    package func nextRefresh() async -> Refresh { await refreshes.next() }

    /// Waits for the next login.
    package func nextLogIn() async -> LogIn { await logIns.next() }

    /// Waits for the next revocation.
    package func nextRevocation() async -> Revocation { await revocations.next() }

    /// The number of refreshes so far, taken or not.
    package var refreshCount: Int { refreshes.count }
    /// The number of logins so far, taken or not.
    package var logInCount: Int { logIns.count }
    /// The number of revocations so far, taken or not.
    package var revocationCount: Int { revocations.count }

    package func refresh(_ session: SessionName, _ request: RefreshRequest) async -> RefreshOutcome {
        await withCheckedContinuation { continuation in
            refreshes.add(Call(session: session, request: request, continuation: continuation))
        }
    }

    package func logIn(
        _ session: SessionName,
        _ request: LoginRequest,
        conversation: any LoginPrompting
    ) async -> LoginOutcome {
        await withCheckedContinuation { continuation in
            logIns.add(Call(session: session, request: (request, conversation), continuation: continuation))
        }
    }

    package func revoke(_ session: SessionName, _ tokens: RevocationRequest) async -> RevocationOutcome {
        await withCheckedContinuation { continuation in
            revocations.add(Call(session: session, request: tokens, continuation: continuation))
        }
    }
}

/// A queue of calls, returned in order.
private final class CallQueue<Call: Sendable>: Sendable {
    private struct State {
        var count = 0
        var calls: [Call] = []
    }

    private let state = Mutex(State())

    var count: Int { state.withLock(\.count) }

    func add(_ call: Call) {
        state.withLock { state in
            state.count += 1
            state.calls.append(call)
        }
    }

    /// Waits for the next call.
    ///
    /// A timeout ends the whole run, because nothing else could end the test.
    func next() async -> Call {
        let call = try? await Polling.value(within: .seconds(300)) { take() }
        guard let call = call ?? nil else { preconditionFailure("no \(Call.self) came in time") }
        return call
    }

    private func take() -> Call? {
        state.withLock { $0.calls.isEmpty ? nil : $0.calls.removeFirst() }
    }
}
