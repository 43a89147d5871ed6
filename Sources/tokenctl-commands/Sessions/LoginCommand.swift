// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `login`: the agent logs in, and this command shows URLs and prompts.
struct LoginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in to a session.",
        discussion: """
            The agent waits for the authorization server's answer; Ctrl-C cancels the login. Without a browser \
            on this machine use --flow device, or --no-browser and open the address elsewhere, or --paste and \
            then paste the address to which the browser was sent in the end.
            """
    )

    enum Flow: String, CaseIterable, ExpressibleByArgument {
        case browser
        case device
        case password
        case clientCredentials = "client_credentials"
        case `import`
    }

    @Argument(
        help: ArgumentHelp(
            "The session; may be left out if there is only one.",
            valueName: "name"
        )
    )
    var session: SessionArgument?

    @Option(help: "How to log in, instead of what the configuration says.")
    var flow: Flow?

    @Option(
        help: ArgumentHelp("For the address of a resource: the issuer that it has to name.", valueName: "url")
    )
    var issuer: String?

    @Flag(name: .customLong("no-browser"), help: "Print the address instead of opening a browser.")
    var opensNoBrowser = false

    @Flag(name: .customLong("paste"), help: "Ask for the address to which the browser was sent in the end.")
    var pastesRedirect = false

    @Flag(name: .customLong("qr"), help: "Show the address of a device login as a QR code, with qrencode.")
    var showsQRCode = false

    @Option(help: ArgumentHelp("The user, for the flow password.", valueName: "user"))
    var username: String?

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "A scope to ask for beside those that were granted; repeatable.",
            valueName: "scope"
        )
    )
    var scopes: [String] = []

    @Option(
        name: .customLong("acr"),
        help: ArgumentHelp(
            "How strongly the server should check who you are; repeatable.",
            valueName: "class"
        )
    )
    var contextClasses: [String] = []

    @Option(
        name: .customLong("max-age"),
        help: ArgumentHelp("Have the server ask you again if that was longer ago.", valueName: "duration")
    )
    var maximumAge: DurationArgument?

    @Flag(name: .customLong("password-stdin"), help: "Read the password from standard input.")
    var readsPassword = false

    @Flag(
        name: .customLong("refresh-token-stdin"),
        help: "Import a refresh token, or for kind json a saved login answer, from standard input."
    )
    var readsRefreshToken = false

    @Flag(
        name: .customLong("client-secret-stdin"),
        help: "First give the client's secret, from standard input, to be kept sealed."
    )
    var readsClientSecret = false

    @OptionGroup var agent: AgentOptions

    func validate() throws {
        guard issuer == nil || isAddress else {
            throw ValidationError("--issuer goes with the address of a resource")
        }
        let inputs = [
            ("--password-stdin", readsPassword), ("--refresh-token-stdin", readsRefreshToken),
            ("--client-secret-stdin", readsClientSecret),
        ]
        let read = inputs.filter(\.1).map(\.0)
        guard read.count < 2 else {
            throw ValidationError("\(read[0]) and \(read[1]) exclude each other")
        }
        guard !readsPassword || flow == nil || flow == .password else {
            throw ValidationError("--password-stdin goes with --flow password")
        }
        guard !readsRefreshToken || flow == nil || flow == .import else {
            throw ValidationError("--refresh-token-stdin goes with --flow import")
        }
    }

    func run() throws {
        let (name, issuer) = try found()
        if readsClientSecret {
            try ClientSecretRequest(session: name).send(ClientSecretRequest.secret(), to: agent.endpoint)
        }
        var request = try request(to: name, at: issuer)
        defer { request.wipeBody() }
        let conversation = LoginProgressClient(
            session: name,
            opensBrowser: !opensNoBrowser && !pastesRedirect,
            pastesRedirect: pastesRedirect,
            showsQRCode: showsQRCode,
            isJSON: agent.wantsJSON,
            endpoint: agent.endpoint
        )
        try conversation.logIn(request)
    }

    /// Whether the argument is a protected resource and not the name of a session, which cannot contain a
    /// slash.
    private var isAddress: Bool { session?.name.bytewise.contains("://") == true }

    /// Returns the session; for the URL of a resource, its existing session or a new one.
    private func found() throws(AgentError) -> ResourceLogin.Found {
        guard let name = session?.name else { return (try onlySession(), nil) }
        guard isAddress else {
            // An argument like a URL may contain a password, so the message does not show it.
            guard !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "@") })
            else {
                throw AgentError(
                    .badRequest,
                    "what was given is neither the name of a session nor the address of a resource",
                    remedy: "give an address with its scheme, as https://mcp.example.com/mcp"
                )
            }
            return (name, nil)
        }
        guard let address = ResourceAddress(name) else {
            throw AgentError(
                .badRequest,
                "what was given is no address of a resource",
                remedy: "write it as https://mcp.example.com/mcp, without a user name or password"
            )
        }
        return try ResourceLogin(
            address: address,
            issuer: issuer,
            endpoint: agent.endpoint,
            isJSON: agent.wantsJSON
        )
        .session()
    }

    /// Returns the session if exactly one is configured.
    private func onlySession() throws(AgentError) -> String {
        let names = try agent.endpoint.sessions().compactMap(\.session)
        guard names.count == 1 else { throw ConfiguredSessions.missingName(in: "login", names) }
        return names[0]
    }

    private func request(to session: String, at issuer: String?) throws(AgentError) -> AgentRequest {
        var body = JSONBody<LoginMembers>()
        if let issuer { body.add(\.issuer, issuer) }
        if let flow = flow ?? impliedFlow { body.add(\.flow, flow.rawValue) }
        if pastesRedirect { body.add(\.paste, true) }
        if let username { body.add(\.username, username) }
        if !scopes.isEmpty { body.add(\.scope, scopes.joined(separator: " ")) }
        if !contextClasses.isEmpty { body.add(\.contextClasses, contextClasses.joined(separator: " ")) }
        if let age = maximumAge { body.add(\.maximumAge, age.duration.components.seconds) }
        if readsPassword { body.add(\.secret, secret: try StandardInput.secret("password")) }
        if readsRefreshToken { body.add(\.secret, secret: try StandardInput.refreshToken()) }
        return AgentRequest(.post, "sessions", session, "login", body: body.finished())
    }

    private var impliedFlow: Flow? {
        if readsRefreshToken { return .import }
        return readsPassword ? .password : nil
    }
}
