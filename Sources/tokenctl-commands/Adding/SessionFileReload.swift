// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore

/// Has a running agent take over a file that was put in place or taken away.
struct SessionFileReload {
    /// How the agent stands to a new file.
    struct Takeover: Equatable {
        /// What a person should know, a clause each.
        var notes: [String] = []
        /// The command without which the session cannot be logged in to.
        var remedy: String?
    }

    let endpoint: AgentEndpoint

    /// Has the agent read `file`; takes the file back if the agent refuses it.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured` if the agent refuses it.
    func takeOver(_ file: SessionFile) throws(AgentError) -> Takeover {
        let answer: ReloadMessage
        do throws(AgentError) {
            answer = try reload()
        } catch {
            switch error.code {
            // The next one reads it at its start.
            case .noAgent: return Takeover()
            case .locked:
                let note = "the agent is locked and reads the file when it is unlocked"
                return Takeover(notes: [note], remedy: "tokenctl unlock")
            default:
                takeBack(file)
                throw error
            }
        }
        guard answer.file == file.configuration else {
            let note = "the agent reads another configuration, \(answer.file ?? "")"
            return Takeover(notes: [note], remedy: "tokenctl shutdown")
        }
        let mistakes = answer.mistakes ?? []
        guard let mistake = mistakes.first(where: { $0.hasPrefix(file.path + ":") }) else {
            // What the agent may read was settled at its start.
            let unread = mistakes.filter { $0.hasPrefix(file.directory + ":") }
            let late = (answer.restart ?? []).filter { $0.key?.hasPrefix("session.\(file.name).") == true }
            let notes = unread + late.map { "\($0.key ?? ""): \($0.reason ?? "")" }
            let remedy = isLocked ? "tokenctl unlock" : nil
            return Takeover(notes: notes, remedy: notes.isEmpty ? remedy : "tokenctl shutdown")
        }
        takeBack(file)
        throw AgentError(.misconfigured, "the agent refuses the session: \(mistake)", session: file.name)
    }

    /// Gives the agent the secret of the client in `file`; takes the file back if it does not keep that.
    func give(_ secret: consuming Secret, to file: SessionFile) throws(AgentError) {
        do throws(AgentError) {
            try ClientSecretRequest(session: file.name).send(secret, to: endpoint)
        } catch {
            takeBack(file)
            throw error
        }
    }

    /// Has the agent notice that a file has gone.
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
