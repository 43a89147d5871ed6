// SPDX-License-Identifier: MIT

import TokenCore

/// What unlocking brought back.
package struct LoadedSessions: Sendable {
    package var sessions: [LoadedSession] = []
    package var problems: [StoreProblem] = []
    /// How the store fits its counter.
    package var counter = CounterVerdict.noCounter
}

/// A session as it was stored, its secrets in sealed memory.
package struct LoadedSession: Sendable {
    private let content: OpenedRecord.Content
    /// A refresh was under way when the agent stopped; `nil`: none was.
    package let interruption: InterruptedRefresh?

    package var name: SessionName { content.session }
    package var snapshot: SessionSnapshot { content.snapshot }

    /// - Parameters:
    ///   - content: what its record holds.
    ///   - interrupted: its refresh token may have been sent, and the answer is missing.
    ///   - readings: as in ``Interruption/readings``.
    init(_ content: OpenedRecord.Content, interrupted: Bool, readings: Int? = nil) {
        self.content = content
        let starts = content.snapshot.interruptions + 1
        interruption = interrupted ? InterruptedRefresh(starts: starts, readings: readings) : nil
    }

    package init(name: SessionName, snapshot: SessionSnapshot, interrupted: Bool) {
        self.init(OpenedRecord.Content(session: name, snapshot: snapshot), interrupted: interrupted)
    }
}

/// Something in the store that is not as it should be; nothing was deleted.
package struct StoreProblem: Equatable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// A record does not open; its session, whatever it was, has to log in again.
        case unreadable
        /// A record is an old copy and was not used.
        case rolledBack = "rolled_back"
        /// A record is gone.
        case missing
        /// The list of generations is gone or damaged: old copies could not be noticed this time.
        case manifest
        /// The vault file is an old copy: a slot that was removed may open it again.
        case oldVault = "old_vault"
        /// A file that should not be there.
        case stray
        /// A record is only in the runtime directory and could not be written to the disk.
        case notDurable = "not_durable"
    }

    package var kind: Kind
    /// The session, where it is known.
    package var session: SessionName?
    /// One sentence for a person.
    package var description: String
}
