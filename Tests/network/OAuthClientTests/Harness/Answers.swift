// SPDX-License-Identifier: MIT

import Synchronization
import TokenCore

/// Answers given one after the other, and the questions they were given to.
final class Answers: Sendable {
    private let state: Mutex<(left: [String], asked: [LoginInputPrompt])>

    init(_ answers: [String]) {
        state = Mutex((answers, []))
    }

    var asked: [LoginInputPrompt] { state.withLock { $0.asked } }

    /// `nil`, which is leaving, when none is left.
    func next(_ question: LoginInputPrompt) -> String? {
        state.withLock { state in
            state.asked.append(question)
            return state.left.isEmpty ? nil : state.left.removeFirst()
        }
    }
}
