// SPDX-License-Identifier: MIT

import AgentProtocol
import Crypto
import Text

/// The settings of one `[[proxy]]` or `[[endpoint]]`, as `tokenctl` sends them to `tokenagent-proxy`.
struct ListenerDefinition: Equatable, Sendable {
    enum Service: Equatable, Sendable {
        case proxy(ProxyRules)
        case endpoint(ProxyListenerKind, EndpointRules)
        /// The metrics of all listeners.
        case metrics
    }

    let name: String
    let address: ListenAddress
    let tokenRequest: TokenRequest
    let service: Service
    /// The claim sent to the agent, which is the name and digest of the table, or `nil` for a table unknown
    /// to the agent.
    let claim: String?
    /// The user IDs of other users who may connect.
    let users: Set<UInt32>

    /// Parses a message.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured`. The sender has checked the tables before.
    init(_ message: ProxyListenerMessage) throws(AgentError) {
        guard let name = message.name, let kind = message.kind, let session = message.session,
            let address = (message.place ?? message.listen).flatMap(ListenAddress.init)
        else { throw AgentError(.misconfigured, "a listener without name, kind, session or address") }
        self.name = name
        self.address = address
        tokenRequest = TokenRequest(
            session: session,
            scopes: kind == .proxy ? message.scopes ?? [] : [],
            audience: message.audience,
            reportsRefusals: true
        )
        let digest = Hex.encoded(SHA256.hash(data: message.identity))
        users = Set((message.users ?? []).compactMap { UInt32($0) })
        claim = message.isConfigured == true ? "\(name) \(digest)" : nil
        if kind == .proxy {
            guard let rules = ProxyRules(message) else {
                throw AgentError(.misconfigured, "\(name): upstream is not a URL")
            }
            service = .proxy(rules)
        } else {
            service = .endpoint(kind, EndpointRules(message))
        }
    }

    /// Creates the table of the listener that serves metrics.
    init(metricsAt text: String) throws(AgentError) {
        guard let address = ListenAddress(text) else {
            throw AgentError(.badRequest, "--metrics requires a path, 127.0.0.1:PORT or [::1]:PORT")
        }
        name = "metrics"
        self.address = address
        tokenRequest = TokenRequest(session: "")
        claim = nil
        users = []
        service = .metrics
    }
}

/// The requests that a `[[proxy]]` forwards, and their upstream.
struct ProxyRules: Equatable, Sendable {
    let upstream: UpstreamAddress
    let paths: PathRules
    /// The allowed methods as written, or empty for all.
    let methods: [String]
    let trust: UpstreamTrust
    /// The forward proxy, or `nil` if the upstream is reached directly.
    let forwardProxy: ForwardProxy?
    let forwardProxyCredentials: ProxyCredentials?

    init?(_ message: ProxyListenerMessage) {
        guard let upstream = message.upstream.flatMap(UpstreamAddress.init) else { return nil }
        self.upstream = upstream
        paths = PathRules(message.paths ?? [])
        methods = message.methods ?? []
        trust = UpstreamTrust(authorities: message.authorities, pins: message.pins ?? [])
        forwardProxy = message.forwardProxy.flatMap { try? ForwardProxy($0) }
        forwardProxyCredentials = message.forwardProxyCredentials.flatMap { ProxyCredentials($0.utf8) }
        // A configured forward proxy is never bypassed.
        guard forwardProxy != nil || message.forwardProxy == nil else { return nil }
    }
}

/// The certificates accepted as the upstream's.
struct UpstreamTrust: Hashable, Sendable {
    /// Additional CA certificates as PEM, or `nil` for the system's CAs alone.
    var authorities: String?
    var pins: [String]
}

/// The requests that an `[[endpoint]]` answers.
struct EndpointRules: Equatable, Sendable {
    /// The scopes allowed in addition to those of the session.
    let scopes: [String]
    let audiences: [String]
    let sessionScopes: [String]
    let sessionAudiences: [String]
    /// The client ID for which the login's ID token is issued, if the configuration gives it.
    let sessionClient: String?
    /// Whether requests without the secret are answered, in protocols that have such requests.
    let doesWithoutSecret: Bool
    /// The Google Cloud project of the simulated machine.
    let project: String?
    /// The secret that a client must send.
    let secret: [UInt8]

    init(_ message: ProxyListenerMessage) {
        scopes = message.scopes ?? []
        audiences = message.audiences ?? []
        sessionScopes = message.sessionScopes ?? []
        sessionAudiences = message.sessionAudiences ?? []
        sessionClient = message.sessionClient
        doesWithoutSecret = message.doesWithoutSecret ?? false
        project = message.project
        secret = Array((message.secret ?? "").utf8)
    }
}
