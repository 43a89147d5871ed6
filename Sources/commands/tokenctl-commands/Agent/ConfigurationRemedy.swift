// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// Remedies that change the configuration, which a running agent must then reload.
enum ConfigurationRemedy {
    /// The command that reloads the configuration.
    private static let command = "tokenctl reload"
    private static let reloading: ByteText = ", then run tokenctl reload"

    /// Returns `change`, followed by the reload.
    static func change(_ change: Remedy) -> Remedy { change.followed(by: command) }

    /// Runs `body`, and shortens the remedy of an error if the user has already made the change.
    ///
    /// - Throws: The errors of `body`. If the agent's configuration is older than the file, the remedy is
    ///   `tokenctl reload` alone.
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

    /// Returns `error` with the remedy reduced to the step that remains.
    static func rest(of error: AgentError, at endpoint: AgentEndpoint) -> AgentError {
        guard error.remedy?.text.bytewise.hasSuffix(reloading) == true, let pending = endpoint.pendingReload
        else { return error }
        let changes = [pending.added, pending.removed, pending.changed].compactMap(\.self).flatMap(\.self)
        guard !changes.isEmpty else { return error }
        var error = error
        error.remedy = .run(command)
        return error
    }
}
