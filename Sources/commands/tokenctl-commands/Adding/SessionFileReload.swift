// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Text

/// The reload of a running agent after a session file was written or removed.
struct SessionFileReload {
    /// The result of loading a new file.
    struct NotesAndRemedy: Equatable {
        /// The notes for the user, one clause each.
        var notes: [String] = []
        /// The command that must be run before a login to the session, or `nil`.
        var remedy: Remedy?
    }

    let endpoint: AgentEndpoint

    /// Makes the agent read `file`, and removes the file if the agent rejects it.
    ///
    /// - Parameter file: The new file.
    /// - Returns: The notes for the user. Without a running agent there are none.
    /// - Throws: ``AgentError`` with the code `misconfigured` if the agent rejects the file.
    func apply(_ file: SessionFile) throws(AgentError) -> NotesAndRemedy {
        let answer: ReloadMessage
        do throws(AgentError) {
            answer = try reload()
        } catch {
            switch error.code {
            // The next agent reads the file when it starts.
            case .noAgent: return NotesAndRemedy()
            case .locked:
                let note = "the agent is locked and reads the file when it is unlocked"
                return NotesAndRemedy(notes: [note], remedy: .run("tokenctl unlock"))
            default:
                takeBack(file)
                throw error
            }
        }
        guard answer.file == file.configuration else {
            let note = "the running agent uses another configuration file: \(answer.file ?? "none")"
            return NotesAndRemedy(notes: [note], remedy: .run("tokenctl shutdown"))
        }
        let mistakes = answer.mistakes ?? []
        guard let mistake = mistakes.first(where: { $0.hasPrefix(file.path + ":") }) else {
            // The sandbox was fixed at the start of the agent, so it may be unable to read some files.
            let unread = mistakes.filter { $0.hasPrefix(file.directory + ":") }
            let late = (answer.restart ?? []).filter { $0.key?.hasPrefix("session.\(file.name).") == true }
            let notes = unread + late.map { "\($0.key ?? ""): \($0.reason ?? "")" }
            guard notes.isEmpty else {
                return NotesAndRemedy(notes: notes, remedy: endpoint.restart)
            }
            return NotesAndRemedy(remedy: isLocked ? .run("tokenctl unlock") : nil)
        }
        takeBack(file)
        throw AgentError(.misconfigured, "the agent rejected the session: \(mistake)", session: file.name)
    }

    /// Sends the client's secret of `file` to the agent, and removes the file if the agent does not store the
    /// secret.
    func give(_ secret: consuming Secret, to file: SessionFile) throws(AgentError) {
        do throws(AgentError) {
            try ClientSecretStorageRequest(session: file.name).send(secret, to: endpoint)
        } catch {
            takeBack(file)
            throw error
        }
    }

    /// Reloads the agent after a file was removed.
    func reloadAfterRemoval() throws(AgentError) {
        do throws(AgentError) {
            _ = try reload()
        } catch {
            guard error.code == .noAgent || error.code == .locked else { throw error }
        }
    }

    private var isLocked: Bool {
        let agent: AgentMessage? = try? endpoint.message(AgentRequest(.get))
        return agent?.locked == true
    }

    private func takeBack(_ file: SessionFile) {
        try? file.remove()
        _ = try? reload()
    }

    private func reload() throws(AgentError) -> ReloadMessage {
        var endpoint = endpoint
        endpoint.mayStartAgent = false
        return try endpoint.message(AgentRequest(.post, "reload"))
    }
}
