// SPDX-License-Identifier: MIT

import AgentProtocol
import Crypto
import ForwardProxy
import Text

/// One `[[proxy]]` or `[[endpoint]]`, as `tokenctl` handed it over.
struct ListenerTable: Equatable, Sendable {
    enum Service: Equatable, Sendable {
        case proxy(ProxyRules)
        case endpoint(ListenerKind, EndpointRules)
        /// The numbers of all listeners.
        case metrics
    }

    let name: String
    let address: ListenAddress
    let demand: TokenRequest
    let service: Service
    /// What the agent is told about who asks: the name and the digest of the table; `nil` for one that it does not know.
    let claim: String?
    /// The users who are served beside this one.
    let users: Set<UInt32>

    /// Reads a message.
    ///
    /// - Throws: ``AgentError`` with the code `misconfigured`: whoever hands over tables has checked them.
    init(_ message: ListenerMessage) throws(AgentError) {
        guard let name = message.name, let kind = message.kind, let session = message.session,
            let address = (message.place ?? message.listen).flatMap(ListenAddress.init)
        else { throw AgentError(.misconfigured, "a listener without name, kind, session or address") }
        self.name = name
        self.address = address
        demand = TokenRequest(
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
                throw AgentError(.misconfigured, "\(name): upstream is no address")
            }
            service = .proxy(rules)
        } else {
            service = .endpoint(kind, EndpointRules(message))
        }
    }

    /// The listener that serves metrics.
    init(metricsAt text: String) throws(AgentError) {
        guard let address = ListenAddress(text) else {
            throw AgentError(.badRequest, "--metrics takes a path, 127.0.0.1:PORT or [::1]:PORT")
        }
        name = "metrics"
        self.address = address
        demand = TokenRequest(session: "")
        claim = nil
        users = []
        service = .metrics
    }
}

/// What a `[[proxy]]` passes on, and where to.
struct ProxyRules: Equatable, Sendable {
    let upstream: UpstreamAddress
    let paths: PathRules
    /// As written; empty: all.
    let methods: [String]
    let trust: UpstreamTrust
    /// `nil` if the upstream is reached without a forward proxy.
    let forwardProxy: ForwardProxy?
    let forwardProxyCredentials: ProxyCredentials?

    init?(_ message: ListenerMessage) {
        guard let upstream = message.upstream.flatMap(UpstreamAddress.init) else { return nil }
        self.upstream = upstream
        paths = PathRules(message.paths ?? [])
        methods = message.methods ?? []
        trust = UpstreamTrust(authorities: message.authorities, pins: message.pins ?? [])
        forwardProxy = message.forwardProxy.flatMap { try? ForwardProxy($0) }
        forwardProxyCredentials = message.forwardProxyCredentials.flatMap { ProxyCredentials($0.utf8) }
        // Never around a proxy that was to be used.
        guard forwardProxy != nil || message.forwardProxy == nil else { return nil }
    }

    /// Whether paths have to be ones that every server reads alike.
    private var needsPlainPaths: Bool { paths.exist || !upstream.prefix.isEmpty }

    /// Refuses what may not be passed on.
    func check(_ request: ProxiedRequest) throws(HTTPMessageError) {
        guard methods.isEmpty || methods.contains(where: request.method.spells) else {
            throw HTTPMessageError(405, "this listener passes on \(methods.joined(separator: ", "))")
        }
        try check(path: request.path)
    }

    /// Refuses a path that may not be passed on.
    func check(path: ArraySlice<UInt8>) throws(HTTPMessageError) {
        guard !needsPlainPaths || PathSyntax.isPlain(path) else {
            throw .malformed(
                "the path has dot segments, backslashes or escapes that servers read differently"
            )
        }
        guard !paths.exist || paths.allow(path) else {
            throw HTTPMessageError(403, "this listener does not pass on this path")
        }
    }
}

/// Whom to believe that it is the upstream.
struct UpstreamTrust: Hashable, Sendable {
    /// PEM; `nil`: the system's authorities alone.
    var authorities: String?
    var pins: [String]
}

/// What an `[[endpoint]]` answers.
struct EndpointRules: Equatable, Sendable {
    /// What may be asked for beside what the session's tokens are for anyway.
    let scopes: [String]
    let audiences: [String]
    let sessionScopes: [String]
    let sessionAudiences: [String]
    /// Whom the ID token of the login is for, where the configuration says it.
    let sessionClient: String?
    /// Whether requests without the secret are answered, where a protocol has them.
    let doesWithoutSecret: Bool
    /// The project that a machine of Google's belongs to.
    let project: String?
    /// What a program has to show.
    let secret: [UInt8]

    init(_ message: ListenerMessage) {
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
