// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The client side of a login: it shows the progress and answers the agent's prompts.
struct LoginProgressClient {
    let session: String
    let opensBrowser: Bool
    /// Whether the user pastes the URL to which the browser was redirected.
    var pastesRedirect = false
    /// Whether the URL of a device login is also shown as a QR code.
    var showsQRCode = false
    /// The option of a flow that the user chose, such as `--flow import`, for another login.
    var flowOption: String?
    let isJSON: Bool
    let endpoint: AgentEndpoint

    /// The options that answer a prompt in advance if there is no terminal.
    private static let options = [
        "username": "--username", "password": "--password-stdin", "refresh_token": "--refresh-token-stdin",
    ]

    /// Logs in; the end of this process cancels the login.
    ///
    /// - Throws: ``AgentError`` if the request fails, or ``ExitCode`` after an error that was printed.
    func logIn(_ request: AgentRequest) throws {
        var failure: AgentError?
        do throws(AgentError) {
            failure = try run(request)
        } catch {
            throw told(error)
        }
        // With --json the event with the error has been printed already.
        if let failure { throw ExitCode(FailureReport.tell(told(failure))) }
    }

    /// Returns the error with the session's name and, if its remedy is another login, with the flow of this one.
    private func told(_ error: AgentError) -> AgentError {
        var error = error.about(session)
        if error.remedy == .run("tokenctl login \(session)") { error.remedy = anotherLogin }
        return error
    }

    private var anotherLogin: Remedy {
        guard let flowOption else { return .run("tokenctl login \(session)") }
        return .run("tokenctl login \(session) \(flowOption)")
    }

    /// Sends the request and returns at the end of the login.
    ///
    /// - Returns: The error in the agent's last event, or `nil` after a successful login.
    private func run(_ request: AgentRequest) throws(AgentError) -> AgentError? {
        var progress = try endpoint.connect().lines(of: request)
        while let line = try progress.next() {
            guard let event = try? JSONValue(parsing: line).object else {
                throw AgentError(.internal, "unexpected response from the agent: not JSON")
            }
            if isJSON { try StandardOutput.json(.object(event)) }
            switch LoginProgress(event) {
            case .openURL(let page): try present(page)
            case .userCode(let code): try present(code)
            case .need(let question): try answer(question)
            case .notice(let notice): try say(notice.message ?? "")
            case .done(let done):
                try report(done)
                return nil
            case .failed(let failed): return AgentError(failed.error ?? FailureMessage())
            case nil: break
            }
        }
        throw AgentError(.noAgent, "login interrupted: the agent exited", remedy: anotherLogin)
    }

    private func present(_ page: OpenURLMessage) throws(AgentError) {
        let address = page.url ?? ""
        let isOpen = opensBrowser && !isJSON && Browser.open(address)
        try say(
            isOpen ? "Opened your browser. If nothing happens, visit:" : "Open this URL in a browser:"
        )
        try say(address)
        if !isOpen, !pastesRedirect {
            let limit = page.expiresIn.map { " within \(DurationPhrase.short($0))" } ?? ""
            try say(
                "Finish the login there\(limit). If the browser is on another machine, press Ctrl-C and run:"
            )
            try say("  tokenctl login \(session) --paste")
            try say("or, if the server supports it:")
            try say("  tokenctl login \(session) --flow device")
        }
        // A server that rejects the redirect URI shows an error only in the browser.
        guard let redirect = page.redirectURI else { return }
        try say(
            "If the server rejects the redirect URI, press Ctrl-C and register \(redirect) for this client, "
                + "or set redirect_port or redirect_uri."
        )
        // Some servers fail at this parameter.
        guard address.bytewise.contains("prompt=consent") else { return }
        try say("If the server rejects prompt=consent, press Ctrl-C and set prompt = \"\".")
    }

    private func present(_ code: UserCodeMessage) throws(AgentError) {
        let address = code.verificationURI ?? ""
        let expiry = code.expiresIn.map { " (expires in \(DurationPhrase.short($0)))" } ?? ""
        try say("Visit \(address) and enter this code\(expiry):")
        // The code is on a separate line, so that no terminal breaks it and a double click selects it.
        try say(code.userCode ?? "")
        if let complete = code.completeURI {
            try say("Or open this URL, which contains the code:")
            try say(complete)
        }
        if showsQRCode, !isJSON { try QRCode.show(code.completeURI ?? address) }
    }

    private func answer(_ need: PromptMessage) throws(AgentError) {
        guard let login = need.login else {
            throw AgentError(.internal, "unexpected prompt from the agent: no login ID")
        }
        let kind = need.kind ?? ""
        let words = kind.isEmpty ? "answer" : String(kind.map { $0 == "_" ? " " : $0 })
        let prompt = need.prompt ?? words
        let option = LoginProgressClient.options[kind]
        var body = AgentRequestBody<LoginAnswerRequestMembers>()
        if need.isSecret == false {
            let line = try TerminalPrompts.line(prompt, kind: words, option: option)
            body.add(\.value, secret: try Secret(line, of: words))
        } else {
            body.add(\.value, secret: try TerminalPrompts.secret(prompt, kind: words, option: option))
        }
        var request = AgentRequest(.post, "sessions", session, "login", login, body: body.finished())
        defer { request.wipeBody() }
        try endpoint.send(request)
    }

    private func report(_ done: DoneMessage) throws(AgentError) {
        let life = done.expiresAt.map { $0 - WallClock.seconds } ?? 0
        let expiry = life > 0 ? " (token expires in \(DurationPhrase.short(life)))" : ""
        try say("Logged in to \"\(session)\"\(expiry)")
        for note in done.notes ?? [] {
            guard let message = note.message else { continue }
            try say("Note: \(message)")
        }
    }

    /// Prints a line for the user, unless a program reads the output.
    private func say(_ text: String) throws(AgentError) {
        guard !isJSON else { return }
        try StandardOutput.line(TerminalText.escaped(text, longest: 8192))
    }
}
