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
            The agent waits for the authorization server's response. Ctrl-C cancels the login. Without a \
            browser on this machine, use --flow device, or open the URL of --no-browser elsewhere, or use \
            --paste and paste the URL that the browser was redirected to.
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
            "The session; optional if there is only one.",
            valueName: "name"
        )
    )
    var session: SessionArgument?

    @Option(help: "The login flow, instead of the configured one.")
    var flow: Flow?

    @Option(
        help: ArgumentHelp("The issuer that the resource must name, for a resource URL.", valueName: "url")
    )
    var issuer: String?

    @Flag(name: .customLong("no-browser"), help: "Print the URL instead of opening a browser.")
    var opensNoBrowser = false

    @Flag(name: .customLong("paste"), help: "Prompt for the URL that the browser was redirected to.")
    var pastesRedirect = false

    @Flag(name: .customLong("qr"), help: "Show the URL of a device login as a QR code, with qrencode.")
    var showsQRCode = false

    @Option(help: ArgumentHelp("The user name, for --flow password.", valueName: "user"))
    var username: String?

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            "A scope to request in addition to the granted ones; repeatable.",
            valueName: "scope"
        )
    )
    var scopes: [String] = []

    @Option(
        name: .customLong("acr"),
        help: ArgumentHelp(
            "Request this authentication context class (acr); repeatable.",
            valueName: "class"
        )
    )
    var contextClasses: [String] = []

    @Option(
        name: .customLong("max-age"),
        help: ArgumentHelp("Require a new authentication if the last one is older.", valueName: "duration")
    )
    var maximumAge: DurationArgument?

    @Flag(name: .customLong("password-stdin"), help: "Read the password from standard input.")
    var readsPassword = false

    @Flag(
        name: .customLong("refresh-token-stdin"),
        help: "Import a refresh token, or for kind json a saved login response, from standard input."
    )
    var readsRefreshToken = false

    @Flag(
        name: .customLong("client-secret-stdin"),
        help: "Read the client secret from standard input first; the agent stores it encrypted."
    )
    var readsClientSecret = false

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard issuer == nil || isAddress else {
            throw ValidationError("--issuer requires the URL of a resource")
        }
        let inputs = [
            ("--password-stdin", readsPassword), ("--refresh-token-stdin", readsRefreshToken),
            ("--client-secret-stdin", readsClientSecret),
        ]
        let read = inputs.filter(\.1).map(\.0)
        guard read.count < 2 else {
            throw ValidationError("\(read[0]) cannot be combined with \(read[1])")
        }
        guard !readsPassword || flow == nil || flow == .password else {
            throw ValidationError("--password-stdin requires --flow password")
        }
        guard !readsRefreshToken || flow == nil || flow == .import else {
            throw ValidationError("--refresh-token-stdin requires --flow import")
        }
        guard !pastesRedirect || flow == nil || flow == .browser else {
            throw ValidationError("--paste requires --flow browser")
        }
    }

    func run() throws {
        let (name, issuer) = try found()
        if readsClientSecret {
            try ClientSecretStorageRequest(session: name).send(
                ClientSecretStorageRequest.secret(),
                to: agent.endpoint
            )
        }
        var request = try request(to: name, at: issuer)
        defer { request.wipeBody() }
        let conversation = LoginProgressClient(
            session: name,
            opensBrowser: !opensNoBrowser && !pastesRedirect,
            pastesRedirect: pastesRedirect,
            showsQRCode: showsQRCode,
            flowOption: flowOption,
            isJSON: agent.wantsJSON,
            endpoint: agent.endpoint
        )
        try conversation.logIn(request)
    }

    /// Whether the argument is a protected resource and not the name of a session, which cannot contain a
    /// slash.
    private var isAddress: Bool { session?.name.bytewise.contains("://") == true }

    /// Returns the session; for the URL of a resource, its existing session or a new one.
    private func found() throws(AgentError) -> ResourceSessionLookup.Found {
        guard let name = session?.name else { return (try onlySession(), nil) }
        guard isAddress else {
            // An argument like a URL may contain a password, so the message does not show it.
            guard !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "@") })
            else {
                throw AgentError(
                    .badRequest,
                    "invalid argument: neither a session name nor the URL of a resource",
                    remedy: .set("a URL with its scheme, such as https://mcp.example.com/mcp")
                )
            }
            return (name, nil)
        }
        guard let address = ResourceAddress(name) else {
            throw AgentError(
                .badRequest,
                "invalid resource URL",
                remedy: .set("a URL such as https://mcp.example.com/mcp, without user name or password")
            )
        }
        return try ResourceSessionLookup(
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
        guard names.count == 1 else { throw SelectableSessions.missingName(in: "login", names) }
        return names[0]
    }

    private func request(to session: String, at issuer: String?) throws(AgentError) -> AgentRequest {
        var body = AgentRequestBody<LoginRequestMembers>()
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

    /// The options with which the user chose the flow, or `nil` without one.
    private var flowOption: String? {
        if readsRefreshToken { return "--refresh-token-stdin" }
        let user = username.map { " --username \(ShellWord.quoted($0))" } ?? ""
        if readsPassword { return "--password-stdin\(user)" }
        return pastesRedirect ? "--paste" : flow.map { "--flow \($0.rawValue)\(user)" }
    }

    private var impliedFlow: Flow? {
        if readsRefreshToken { return .import }
        if readsPassword { return .password }
        return pastesRedirect ? .browser : nil
    }
}
