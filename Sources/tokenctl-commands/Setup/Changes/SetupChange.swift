// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// Puts back what was there before a change was made.
///
/// Throws ``AgentError`` if that cannot be done, or somebody else has changed it since then.
typealias Restoring = () throws(AgentError) -> Void

/// One change of another program's configuration, that can be shown, made and taken back.
protocol SetupChange {
    /// What it is, for a person: a line with the place, then what stands there afterwards.
    var shown: [String] { get }

    /// What stands there from an earlier time and goes when it is made, line by line; empty: nothing.
    func replaced() throws(AgentError) -> [String]

    /// Whether it is made already.
    ///
    /// - Throws: ``AgentError`` if what is there was written by a person and would have to be changed.
    func isMade() throws(AgentError) -> Bool

    /// Makes it; ``isMade()`` said that it can be.
    @discardableResult
    func make() throws(AgentError) -> Restoring

    /// What ``undo()`` takes back, for a person: a line with the place, then what goes there; empty: nothing.
    func remnant() throws(AgentError) -> [String]

    /// What is as this change makes it, but does not show that it is ours, so that ``undo()`` leaves it, for a person.
    func unmarked() throws(AgentError) -> [String]

    /// Takes back what ``remnant()`` says, if anything.
    ///
    /// - Throws: ``AgentError``; it is as it was then.
    func undo() throws(AgentError)
}

extension SetupChange {
    func replaced() throws(AgentError) -> [String] { [] }

    func unmarked() throws(AgentError) -> [String] { [] }

    /// ``shown``, with the lines that go marked by a minus.
    func shownWithReplaced() throws(AgentError) -> [String] {
        let lines = shown.map(\.bytewise)
        let gone = try replaced().map { "    " + $0 }.filter { !lines.contains($0.bytewise) }
        return shown.prefix(1) + gone.map { "  - " + $0.dropFirst(4) } + shown.dropFirst()
    }
}

extension [any SetupChange] {
    /// Makes one after the other, then does `check`; if anything fails, all are as they were before.
    ///
    /// - Throws: ``AgentError`` of what failed, with what could not be put back.
    func make(checkedBy check: () throws(AgentError) -> Void = {}) throws(AgentError) {
        var restorings: [Restoring] = []
        do throws(AgentError) {
            for change in self { restorings.append(try change.make()) }
            try check()
        } catch {
            var failure = error
            for restore in restorings.reversed() {
                do throws(AgentError) {
                    try restore()
                } catch {
                    failure.message += "; what was changed before stays: \(error.message)"
                }
            }
            throw failure
        }
    }
}
