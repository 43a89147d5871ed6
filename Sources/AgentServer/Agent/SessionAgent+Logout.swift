// SPDX-License-Identifier: MIT

import Text
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
        answer["revoked"] = .bool(result == .revoked)
        answer["told"] = .string(result.word)
        answer["message"] = result.message.map { .string($0) }
        for connection in kept.logouts {
            connection.awaited = nil
            connection.answer(.json(.object(answer)))
        }
    }
}

extension LogoutResult {
    /// What the server was told, as a stable word.
    var word: String {
        switch self {
        case .revoked: "revoked"
        case .nothingToRevoke: "nothing"
        case .local: "local"
        case .unsupported: "unsupported"
        case .refused: "refused"
        case .notYetRevoked: "retrying"
        }
    }

    /// Why the tokens may still work at the server.
    fileprivate var message: String? {
        switch self {
        case .revoked, .nothingToRevoke, .local: nil
        case .unsupported(let message), .refused(let message), .notYetRevoked(let message): message
        }
    }
}
