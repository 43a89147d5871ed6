// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import SystemCalls
import Text
import TokenCore

/// The comparison of the configuration file with the active configuration, for `tokenctl doctor`.
struct ConfigurationDriftCheck {
    private static let name = "configuration"

    let configuration: ActiveConfiguration

    /// Returns one finding per difference, each with its session, as some sessions are hidden from some
    /// peers.
    func checks() -> [DiagnosticCheck] {
        let found: ConfigurationChanges
        do throws(RequestFailure) {
            found = try configuration.changes()
        } catch {
            // The lines may name sessions that are hidden from this peer. "config check" shows them.
            let detail = "the file is invalid, so the agent uses the previous configuration"
            return [check(.problem, detail, remedy: error.remedy, of: nil)]
        }
        let mistakes = found.mistakes.map(check) + secrets()
        guard !found.isEmpty else {
            return mistakes + [check(.ok, "the agent uses \(found.file)", remedy: nil, of: nil)]
        }
        let differing = found.changes.map { change in
            let detail =
                "not reloaded: \(change.kind.rawValue) \(change.key)"
            return check(.warning, detail, remedy: .run("tokenctl reload"), of: change.session)
        }
        let late = found.restarts.map { restart in
            let remedy = Remedy.restart
            return check(.warning, "\(restart.key): \(restart.reason)", remedy: remedy, of: restart.session)
        }
        return mistakes + differing + late
    }

    /// Returns a warning for each client secret that other users can read.
    ///
    /// The agent uses it anyway.
    private func secrets() -> [DiagnosticCheck] {
        configuration.secretFiles.compactMap { session, path in
            guard let objection = SecretFileCheck.objection(to: path) else { return nil }
            let detail = "session.\(session).client_secret_file: \(path): \(objection.message)"
            return check(.warning, detail, remedy: objection.remedy, of: session)
        }
    }

    /// Returns the finding for an error.
    ///
    /// The rules of a session that was left out are unknown, so its name is hidden.
    private func check(_ mistake: SessionConfigurationError) -> DiagnosticCheck {
        let isUnknown = mistake.session.map { !configuration.holds($0) } ?? false
        let isHidden = isUnknown && configuration.hasRules
        let detail = isHidden ? "a session's file is invalid and not used" : mistake.line
        let remedy: Remedy =
            isHidden ? .run("tokenctl config check") : .set("a valid value, then run tokenctl reload")
        return check(.problem, detail, remedy: remedy, of: isHidden ? nil : mistake.session)
    }

    private func check(
        _ verdict: CheckVerdict,
        _ detail: String,
        remedy: Remedy?,
        of session: SessionName?
    ) -> DiagnosticCheck {
        DiagnosticCheck(
            name: Self.name,
            verdict: verdict,
            detail: detail,
            remedy: remedy,
            sessions: [session].compactMap(\.self)
        )
    }
}
