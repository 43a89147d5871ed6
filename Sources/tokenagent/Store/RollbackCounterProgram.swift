// SPDX-License-Identifier: MIT

import NIOCore
import SealedStore
import TokenCore

/// The program of `vault.rollback_counter`, which reads and increments a monotonic counter.
struct RollbackCounterProgram: Sendable {
    /// The time limit of a run, 30 seconds: a TPM may be busy, or a service far away.
    static let timeLimit = Duration.seconds(30)

    /// The program and its arguments.
    ///
    /// If empty, there is no counter.
    let command: [String]
    /// The number of `vault.rollback_counter_accept`.
    let accepted: UInt64?
    let commands: any CommandRunning
    let eventLoop: any EventLoop

    var isConfigured: Bool { !command.isEmpty }

    /// The counter's value and settings, with which an unlock compares the store.
    ///
    /// Blocks, so not for use on an event loop.
    var evidence: CounterCheckInput { CounterCheckInput(reading: reading, accepted: accepted) }

    /// The counter's current value.
    ///
    /// Blocks, so not for use on an event loop.
    var reading: CounterReading {
        guard isConfigured else { return .notConfigured }
        let answer = eventLoop.makeFutureWithTask { await run(.read) }
        return (try? answer.wait()) ?? .unusable("interrupted")
    }

    /// Runs the program with the operation `order` and parses the value it prints.
    func run(_ order: CounterOperation, within limit: Duration = timeLimit) async -> CounterReading {
        let name = command.first ?? ""
        do throws(CommandFailure) {
            let output = try await commands.output(of: command + [order.rawValue], within: limit)
            let reading = CounterReading(printed: output)
            guard case .unusable(let reason) = reading else { return reading }
            return .unusable("\(name): \(reason)")
        } catch {
            return .unusable(error.message)
        }
    }
}
