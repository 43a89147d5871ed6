// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport

@testable import AgentServer

/// Where an agent's own socket went when its place was gone.
final class MovedSockets: Sendable {
    private let moves = Mutex<[String]>([])

    var paths: [String] { moves.withLock(\.self) }

    /// The reserve of an agent that lives in `directory`.
    func socket(in directory: TemporaryDirectory) -> FallbackSocket {
        FallbackSocket(path: directory.path("state/run/agent.sock")) { [self] path in
            moves.withLock { $0.append(path) }
        }
    }
}
