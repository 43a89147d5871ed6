// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// Remedies that are changes of the configuration, which a running agent has to take over.
enum ConfigurationRemedy {
    /// What takes a change over.
    private static let command = "tokenctl reload"
    private static let takeover: ByteText = ", then tokenctl reload"

    /// A change of the configuration, with what takes it over.
    static func change(_ words: String) -> String { words + ", then " + command }

    /// Does `body`; a person who has made the change that a failure asks for is told of the step that is left.
    ///
    /// - Throws: what `body` throws; in place of the change, `tokenctl reload` where the agent runs with an older
    ///   configuration than there is.
    static func whereNotTakenOver<Value>(
        at endpoint: AgentEndpoint,
        _ body: () throws(AgentError) -> Value
    ) throws(AgentError) -> Value {
        do throws(AgentError) {
            return try body()
        } catch {
            throw rest(of: error, at: endpoint)
        }
    }

    /// `error`, which says only what is left to do.
    static func rest(of error: AgentError, at endpoint: AgentEndpoint) -> AgentError {
        guard error.remedy?.bytewise.hasSuffix(takeover) == true, let pending = endpoint.pendingReload else {
            return error
        }
        let changes = [pending.added, pending.removed, pending.changed].compactMap(\.self).flatMap(\.self)
        guard !changes.isEmpty else { return error }
        var error = error
        error.remedy = command
        return error
    }
}
