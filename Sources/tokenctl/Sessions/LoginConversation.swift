// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// Follows the progress of a login and answers what the agent asks.
struct LoginConversation {
    let session: String
    let opensBrowser: Bool
    let isJSON: Bool
    let endpoint: AgentEndpoint

    /// What spares a question where nobody can be asked.
    private static let options = [
        "username": "--username", "password": "--password-stdin", "refresh_token": "--refresh-token-stdin",
    ]

    /// Sends the request and returns at the end of the login; ending this process cancels it.
    ///
    /// - Returns: why the session is not logged in, if the agent said so with its last event.
    func run(_ request: AgentRequest) throws(AgentError) -> AgentError? {
        var progress = try endpoint.connect().lines(of: request)
        while let line = try progress.next() {
            guard let event = try? JSONValue(parsing: line).object, let name = event["event"]?.string else {
                throw AgentError(.internal, "the agent's progress is not understood")
            }
            if isJSON { try StandardOutput.json(.object(event)) }
            switch name {
            case "open_url":
                try present(address: event["url"]?.string ?? "", redirect: event["redirect_uri"]?.string)
            case "user_code": try present(userCode: event)
            case "need": try answer(event)
            case "notice": try say(event["message"]?.string ?? "")
            case "done":
                try report(event)
                return nil
            case "failed": return AgentError(json: event["error"]?.object ?? JSONObject())
            default: break
            }
        }
        throw AgentError(.noAgent, "the agent ended before the login was complete")
    }

    private func present(address: String, redirect: String?) throws(AgentError) {
        let isOpen = opensBrowser && Browser.open(address)
        try say("\(isOpen ? "Continue in the browser" : "Open this address in a browser"): \(address)")
        // A server that does not know the redirect address shows an error there, and tells nobody here.
        guard let redirect else { return }
        try say(
            "If it shows an error, end this with Ctrl-C: the client has to be registered at the server "
                + "with the redirect address \(redirect) (redirect_port fixes its port)."
        )
    }

    private func present(userCode event: JSONObject) throws(AgentError) {
        let address = event["verification_uri"]?.string ?? ""
        let expiry = event["expires_in"]?.integer.map { " It is good for \(DurationPhrase.short($0))." } ?? ""
        try say(
            "Open \(address) in a browser and enter the code \(event["user_code"]?.string ?? "").\(expiry)"
        )
        if let complete = event["verification_uri_complete"]?.string {
            try say("Or open this address, which holds the code: \(complete)")
        }
    }

    private func answer(_ need: JSONObject) throws(AgentError) {
        guard let login = need["login"]?.string else {
            throw AgentError(.internal, "the agent's question is not understood")
        }
        let kind = need["kind"]?.string ?? ""
        let words = kind.isEmpty ? "answer" : String(kind.map { $0 == "_" ? " " : $0 })
        let prompt = need["prompt"]?.string ?? words
        let option = LoginConversation.options[kind]
        var body = JSONBody()
        if need["secret"]?.bool == false {
            let line = try Question.line(prompt, kind: words, option: option)
            body.add("value", secret: try Secret(line, of: words))
        } else {
            body.add("value", secret: try Question.secret(prompt, kind: words, option: option))
        }
        var request = AgentRequest(.post, "sessions", session, "login", login, body: body.finished())
        defer { request.wipeBody() }
        _ = try endpoint.object(request)
    }

    private func report(_ done: JSONObject) throws(AgentError) {
        let life = done["expires_at"]?.integer.map { $0 - WallClock.seconds } ?? 0
        try say(
            "Logged in to \(session)."
                + (life > 0 ? " The token is good for \(DurationPhrase.short(life))." : "")
        )
        for note in done["notes"]?.array ?? [] {
            guard let message = note.object?["message"]?.string else { continue }
            try say("Note: \(message).")
        }
    }

    /// A line for the person, unless a program is reading.
    private func say(_ text: String) throws(AgentError) {
        guard !isJSON else { return }
        try StandardOutput.line(TerminalText.escaped(text, longest: 8192))
    }
}
