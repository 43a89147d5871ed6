// SPDX-License-Identifier: MIT

import AgentProtocol
import Synchronization
import Text

@testable import AgentServer

/// Finds the same every time.
struct FixedDiagnostics: DiagnosticsProviding {
    func checks() async -> [DiagnosticCheck] {
        [
            DiagnosticCheck(name: "memory", verdict: .ok, detail: "locked"),
            DiagnosticCheck(name: "clock", verdict: .warning, detail: "off by 40 s", remedy: .set("it")),
            DiagnosticCheck(name: "disk", verdict: .problem, detail: "read-only"),
        ]
    }

    func examine(
        _ place: ProbeTarget,
        caFile: String?
    ) async -> Result<ServerProbeMessage, RequestFailure> {
        .success(ServerProbeMessage { $0.flows = ["browser"] })
    }
}

/// Issuers that answer when the test lets them.
final class HeldIssuers: DiagnosticsProviding {
    typealias Answer = Result<ServerProbeMessage, RequestFailure>

    private let waiting = Mutex<[(place: ProbeTarget, continuation: CheckedContinuation<Answer, Never>)]>([]
    )

    /// Those that are being looked at.
    var asked: [ProbeTarget] { waiting.withLock { $0.map(\.place) } }

    func checks() async -> [DiagnosticCheck] { [] }

    func examine(_ place: ProbeTarget, caFile: String?) async -> Answer {
        await withCheckedContinuation { continuation in
            waiting.withLock { $0.append((place, continuation)) }
        }
    }

    /// Lets the first of them answer.
    func answer(_ answer: Answer) {
        let first = waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        first?.continuation.resume(returning: answer)
    }
}
