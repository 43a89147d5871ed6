// SPDX-License-Identifier: MIT

import StrictJSON
import TokenCore

extension SessionAgent {
    /// Serves `POST …/logout`: gone here at once, answered when the server has been told or could not be.
    func serveLogout(
        _ request: HTTPRequest,
        _ name: SessionName,
        on connection: Connection
    ) throws(RequestFailure) {
        let local = try RequestBody(request.body, members: ["local"]).bool("local") ?? false
        guard sessions[name] != nil else { throw unknown(name) }
        connection.awaited = .logout(name)
        sessions[name]?.logouts.append(connection)
        sessions[name]?.isLogoutLocal = local
        audit(.logout, .done, name, by: AuditRecord.Origin(connection))
        apply(name) { session, moment in session.logoutRequested(local: local, at: moment) }
    }

    func finishLogout(_ result: LogoutResult, for name: SessionName) {
        journal.logoutEnded(result, of: name)
        guard let kept = sessions[name], !kept.logouts.isEmpty else { return }
        sessions[name]?.logouts = []
        var answer: JSONObject = JSONObject()
        answer["session"] = .string(name.description)
        answer["state"] = "logged_out"
        switch result {
        case .done: answer["revoked"] = .bool(!kept.isLogoutLocal)
        case .notYetRevoked(let message):
            answer["revoked"] = false
            answer["message"] = .string(message)
        }
        for connection in kept.logouts {
            connection.awaited = nil
            connection.answer(.json(.object(answer)))
        }
    }
}
