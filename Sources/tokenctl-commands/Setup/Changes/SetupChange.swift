// SPDX-License-Identifier: MIT

import AgentProtocol

/// One change of another program's configuration, that can be shown, made and taken back.
protocol SetupChange {
    /// What it is, for a person: a line with the place, then what stands there afterwards.
    var shown: [String] { get }

    /// Whether it is made already.
    ///
    /// - Throws: ``AgentError`` if what is there was written by a person and would have to be changed.
    func isMade() throws(AgentError) -> Bool

    /// Makes it; ``isMade()`` said that it can be.
    func make() throws(AgentError)

    /// What ``undo()`` takes back, for a person: a line with the place, then what goes there; empty: nothing.
    func remnant() throws(AgentError) -> [String]

    /// Takes back what ``remnant()`` says, if anything.
    ///
    /// - Throws: ``AgentError``; it is as it was then.
    func undo() throws(AgentError)
}
