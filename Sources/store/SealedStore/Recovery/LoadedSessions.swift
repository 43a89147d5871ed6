// SPDX-License-Identifier: MIT

import TokenCore

/// The sessions and the irregularities that unlocking the store has found.
package struct LoadedSessions: Sendable {
    package var sessions: [LoadedSession] = []
    package var problems: [StoreProblem] = []
    /// The result of comparing the store with the counter that reveals an old copy of the whole store.
    package var counter = CounterVerdict.noCounter
}

/// A session as it was stored, with its secrets in sealed memory.
package struct LoadedSession: Sendable {
    private let content: OpenedRecord.Content
    /// The refresh that was in flight when the agent stopped, or `nil` if there was none.
    package let interruption: InterruptedRefresh?

    package var name: SessionName { content.session }
    package var snapshot: SessionSnapshot { content.snapshot }

    /// Creates a loaded session.
    ///
    /// - Parameters:
    ///   - content: the content of its record.
    ///   - interrupted: whether its refresh token may have been sent and the response is missing.
    ///   - readings: see `InterruptedRefresh.readings`.
    init(_ content: OpenedRecord.Content, interrupted: Bool, readings: Int? = nil) {
        self.content = content
        let starts = content.snapshot.interruptions + 1
        interruption = interrupted ? InterruptedRefresh(starts: starts, readings: readings) : nil
    }

    package init(name: SessionName, snapshot: SessionSnapshot, interrupted: Bool) {
        self.init(OpenedRecord.Content(session: name, snapshot: snapshot), interrupted: interrupted)
    }
}

/// An irregularity in the store; nothing was deleted.
package struct StoreProblem: Equatable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// A record does not open; its session must log in again.
        case unreadable
        /// A record is an old copy and was not used.
        case rolledBack = "rolled_back"
        /// A record is missing.
        case missing
        /// The manifest is missing or damaged, so old copies could not be detected this time.
        case manifest
        /// The vault file is an old copy, which a removed slot may open.
        case oldVault = "old_vault"
        /// An unexpected file.
        case stray
        /// A record is only in the runtime directory and could not be written to the disk.
        case notDurable = "not_durable"
    }

    package var kind: Kind
    /// The session, if it is known.
    package var session: SessionName?
    /// One sentence for the user.
    package var description: String
}
