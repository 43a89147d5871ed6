// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// A function that restores the state before a change.
///
/// It throws ``AgentError`` if that is impossible, or another program has since changed the state.
typealias Restoring = () throws(AgentError) -> Void

/// A change of another program's configuration that can be shown, made and undone.
protocol SetupChange {
    /// The lines that describe this change to the user: its location, then the new contents.
    var shown: [String] { get }

    /// Returns the existing lines that the change replaces, or an empty array.
    func replaced() throws(AgentError) -> [String]

    /// Returns whether the change is already made.
    ///
    /// - Throws: ``AgentError`` if the change conflicts with something that a user wrote.
    func isMade() throws(AgentError) -> Bool

    /// Makes the change; ``isMade()`` must have returned without an error.
    ///
    /// - Returns: A function that restores the previous state.
    @discardableResult
    func make() throws(AgentError) -> Restoring

    /// Returns what ``undo()`` removes, for the user: a line with its location, then the contents, or an
    /// empty array.
    func remnant() throws(AgentError) -> [String]

    /// Returns contents equal to this change without a mark, which ``undo()`` therefore keeps, for the user.
    func unmarked() throws(AgentError) -> [String]

    /// Removes what ``remnant()`` returns, if anything.
    ///
    /// - Throws: ``AgentError``. The state is then unchanged.
    func undo() throws(AgentError)
}

extension SetupChange {
    func replaced() throws(AgentError) -> [String] { [] }

    func unmarked() throws(AgentError) -> [String] { [] }

    /// Returns ``shown`` with the removed lines marked by a minus.
    func shownWithReplaced() throws(AgentError) -> [String] {
        let lines = shown.map(\.bytewise)
        let gone = try replaced().map { "    " + $0 }.filter { !lines.contains($0.bytewise) }
        return shown.prefix(1) + gone.map { "  - " + $0.dropFirst(4) } + shown.dropFirst()
    }
}

extension [any SetupChange] {
    /// Makes the changes in order, then calls `check`; after an error, all changes are reverted.
    ///
    /// - Throws: ``AgentError`` of the failed step, with the changes that could not be reverted.
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
                    failure.message += "; an earlier change remains: \(error.message)"
                }
            }
            throw failure
        }
    }
}
