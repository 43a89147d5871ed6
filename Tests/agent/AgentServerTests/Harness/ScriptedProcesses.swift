// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// Peers with identities that the test chooses.
///
/// In fact, all peers are the test's own process.
final class ScriptedProcesses: ProcessExamining {
    private let answers = Mutex<(next: PeerIdentity?, count: Int)>((nil, 0))

    /// Sets the identity of the peers inspected next, or `nil` if it cannot be determined.
    func next(_ facts: PeerIdentity?) {
        answers.withLock { $0.next = facts }
    }

    func next(program: String, digest: String? = nil, unit: String? = nil, image: String? = nil) {
        let program = PeerIdentity.Program(executable: program, digest: digest)
        next(PeerIdentity(programs: [program], unit: unit, startedAt: .seconds(1), image: image))
    }

    /// The number of peers inspected so far.
    var count: Int { answers.withLock(\.count) }

    func examine(
        _ process: Int32,
        digesting digested: Set<String>
    ) async throws(CommandFailure) -> PeerIdentity {
        let facts = answers.withLock { answers in
            answers.count += 1
            return answers.next
        }
        guard let facts else { throw CommandFailure(message: "there is no process \(process)") }
        return facts
    }
}
