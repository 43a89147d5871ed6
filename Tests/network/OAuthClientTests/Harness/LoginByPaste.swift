// SPDX-License-Identifier: MIT

import Synchronization
import Text
import TokenCore

@testable import OAuthClient

/// A browser login whose redirect is pasted.
final class LoginByPaste: Sendable {
    private let bench: Bench
    private let opened = Mutex<OpenedAddress?>(nil)

    init(_ bench: Bench) {
        self.bench = bench
    }

    var address: OpenedAddress? { opened.withLock { $0 } }

    /// Logs in; `parameters` are those of the redirect, besides `state`.
    func run(_ parameters: [String: String]) async -> LoginOutcome {
        let person = ScriptedPerson(
            memory: bench.memory,
            answers: { [self] _ in
                let all = parameters.merging(["state": address?.state ?? ""]) { $1 }
                let query = all.map { "\($0.key)=\(PercentCoding.encoded($0.value))" }.joined(separator: "&")
                return "https://app.example/callback?\(query)"
            },
            whenTold: { [self] step in
                if let address = OpenedAddress(step) { opened.withLock { $0 = address } }
            }
        )
        return await bench.server.logIn(
            LoginRequest(flow: .browser, pastesRedirect: true),
            conversation: person
        )
    }
}
