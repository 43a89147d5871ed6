// SPDX-License-Identifier: MIT

import AgentProtocol
import ServerSettings
import Text
import TokenCore

/// A reader of one `[[proxy]]` or `[[endpoint]]`.
struct ProxyListenerReader {
    var table: TableReader
    let places: ListeningSocketPathReader
    let known: KnownSessions
    let sessions: [SessionName: ConfiguredSession]
    /// The list for errors in other files that make one listener useless.
    let remarks: ProblemCollector

    private static let sessionPurpose = "session that provides the tokens"

    /// Reads a proxy, or returns `nil` with the reasons in the problem list.
    mutating func readProxy() -> ProxyListenerSettings? {
        let session = session()
        return finished(proxy(of: session), session)
    }

    /// Reads a proxy whose session need not be configured, or returns `nil` with the reasons in the problem
    /// list.
    mutating func readProxyAlone() -> ProxyListenerSettings? {
        let session = table.required("session", Self.sessionPurpose).flatMap { SessionName($0) }
        var message = proxy(of: nil)
        guard table.problems.isEmpty, let session else { return nil }
        message.session = session.description
        return ProxyListenerSettings(session: session, message: message)
    }

    /// Reads the keys of a proxy of `session`, which is `nil` if unknown.
    private mutating func proxy(of session: ConfiguredSession?) -> ProxyListenerMessage {
        var message = ProxyListenerMessage { $0.kind = .proxy }
        message.name = name()
        message.listen = listen(allowsPaths: true)
        message.upstream = upstream(of: session)
        message.scopes = words("scopes", "scope")
        message.audience = table.string("audience")
        message.paths = paths()
        message.methods = methods()
        message.authorityFile = table.path("ca_file", home: places.home)
        message.pins = pins()
        message.users = users(at: message.listen)
        table.refuseUnknownKeys()
        return message
    }

    /// Reads `users`, or returns `nil` if the key is not set, so that it is left out of the message.
    private mutating func users(at listen: String?) -> [String]? {
        guard table.has("users") else { return nil }
        let users = AccountDatabase.users(&table)
        if listen?.hasPrefix("/") == true {
            table.report(
                "users",
                "has no effect: other users cannot connect to a path",
                .set("a listen address and port")
            )
        }
        return users.map { "\($0)" }
    }

    /// Reads an endpoint, or returns `nil` with the reasons in the problem list.
    mutating func readEndpoint() -> ProxyListenerSettings? {
        let session = session()
        var message = ProxyListenerMessage()
        message.kind = kind()
        message.name = name()
        message.listen = listen(allowsPaths: false)
        message.scopes = words("scopes", "scope")
        message.audiences = words("audiences", "audience")
        message.doesWithoutSecret = table.boolean("no_secret")
        message.project = project(message.kind)
        table.refuseUnknownKeys()
        checkSecret(message)
        message.sessionScopes = session?.scopes
        message.sessionAudiences = session.map { [$0.audience].compactMap(\.self) + $0.resources }
        message.sessionClient = session.flatMap { $0.client.id.isEmpty ? nil : $0.client.id }
        if let session { checkResources(message, session) }
        return finished(message, session)
    }

    private mutating func finished(
        _ message: ProxyListenerMessage,
        _ session: ConfiguredSession?
    ) -> ProxyListenerSettings? {
        guard let session else { return nil }
        check(session, message)
        guard table.problems.isEmpty else { return nil }
        var message = message
        message.session = session.name.description
        return ProxyListenerSettings(session: session.name, message: message, proxy: session.trust.proxy)
    }

    // MARK: Keys of both

    private mutating func name() -> String? {
        guard let text = table.required("name", "name used by allow, the audit log and commands") else {
            return nil
        }
        guard SessionName(text) != nil else {
            table.report(
                "name",
                "must be 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit"
            )
            return nil
        }
        return text
    }

    private mutating func session() -> ConfiguredSession? {
        guard let word = table.required("session", Self.sessionPurpose), let name = SessionName(word)
        else {
            return nil
        }
        if let session = sessions[name] { return session }
        if let reason = known.absence(of: word) {
            remarks.add(
                table.name(of: "session"),
                at: table.position(of: "session"),
                "listener not served: session \"\(word)\" is unavailable: \(reason)",
                about: name
            )
        } else if !known.names.contains(word) {
            let nearest =
                WordSuggestion.question(about: word, among: known.names)
            table.report("session", "no session named \"\(word)\"\(nearest)")
        }
        return nil
    }

    /// Reads an absolute path or a literal loopback address with a port; port 0 means any free port.
    private mutating func listen(allowsPaths: Bool) -> String? {
        guard let text = table.required("listen", "address for clients, such as \"127.0.0.1:8080\"")
        else {
            return nil
        }
        if text.hasPrefix("/") || text.hasPrefix("~/") {
            guard allowsPaths else {
                table.report(
                    "listen",
                    "must be 127.0.0.1:PORT or [::1]:PORT: cloud libraries do not support Unix sockets"
                )
                return nil
            }
            return places.socket("listen", in: &table)
        }
        // A URL cannot contain port 0, which is allowed here, so another port is checked in its place.
        let shown = text.hasSuffix(":0") ? String(text.dropLast()) + "1" : text
        let address = try? EndpointURL("http://\(shown)")
        let hasPort = text.utf8.last?.isASCIIDigit == true && text.utf8.contains(UInt8(ascii: ":"))
        guard let address, IPAddress(address.host) != nil, hasPort, address.path.isEmpty,
            address.query == nil,
            !text.hasSuffix("]")
        else {
            let forms = allowsPaths ? "a path, 127.0.0.1:PORT or [::1]:PORT" : "127.0.0.1:PORT or [::1]:PORT"
            table.report("listen", "must be \(forms), not \"\(text)\": other machines are not served")
            return nil
        }
        return text
    }

    /// Reads a list of words, or returns `nil` if the key is not set, so that it is left out of the message.
    private mutating func words(_ key: String, _ name: String) -> [String]? {
        table.has(key) ? table.wordsToAskFor(key, name) : nil
    }

    // MARK: Proxies

    private mutating func upstream(of session: ConfiguredSession?) -> String? {
        guard let text = table.required("upstream", "URL of the server, such as \"https://api.example.com\"")
        else {
            return nil
        }
        let url: EndpointURL
        do throws(EndpointURLError) {
            url = try EndpointURL(text)
        } catch {
            table.report("upstream", "\(error)")
            return nil
        }
        guard url.query == nil else {
            table.report("upstream", "must not contain a query (?)")
            return nil
        }
        guard url.path.isEmpty || PathSegments(url.path) != nil else {
            table.report("upstream", "must not contain the segments . and ..")
            return nil
        }
        if let session, !session.serves(url) {
            table.report(
                "upstream",
                "tokens of session \"\(session.name)\" are not for \(url.hostAndPort)",
                .set("hosts in [session.\(session.name)] to include \(url.hostAndPort)")
            )
        }
        return text
    }

    private mutating func paths() -> [String]? {
        guard let paths = table.strings("paths") else { return nil }
        for path in paths {
            let star = path.utf8.firstIndex(of: UInt8(ascii: "*"))
            let isLast = star.map { path.utf8.index(after: $0) == path.utf8.endIndex } ?? true
            let isPlain = path.utf8.allSatisfy { $0.isVisibleASCII && !"?#\\%".utf8.contains($0) }
            guard path.hasPrefix("/"), isLast, isPlain, PathSegments(path) != nil else {
                table.report(
                    "paths",
                    "\"\(path)\" is not a path such as \"/v1/users\", or \"/v1/*\" with * at the end"
                )
                continue
            }
        }
        if paths.isEmpty { table.report("paths", "must not be empty: no request would be forwarded") }
        return paths
    }

    private mutating func methods() -> [String]? {
        guard let methods = table.strings("methods") else { return nil }
        let unfit = ["CONNECT", "TRACE", "TRACK"]
        for method in methods {
            let isMethod = method.utf8.allSatisfy { $0.isTokenByte } && method.uppercased() == method
            if !isMethod || unfit.contains(method) {
                table.report("methods", "\"\(method)\" is not a method that is forwarded, such as \"GET\"")
            }
        }
        if methods.isEmpty {
            table.report("methods", "must not be empty: no request would be forwarded")
        }
        return methods
    }

    private mutating func pins() -> [String]? {
        let pins = table.strings("pins")
        for pin in pins ?? [] where CertificatePin(pin) == nil {
            table.report("pins", "\"\(pin)\" is not a pin such as \"sha256/BASE64-OF-SPKI\"")
        }
        return pins
    }

    // MARK: Endpoints

    private mutating func kind() -> ProxyListenerKind? {
        let kinds = "aws-container, gce-metadata or azure-msi"
        if !table.has("kind") { table.report("kind", "required: \(kinds)") }
        guard let text = table.string("kind") else { return nil }
        guard let kind = ProxyListenerKind(rawValue: text), kind != .proxy else {
            let hint = text == ProxyListenerKind.proxy.rawValue ? "; a proxy requires [[proxy]]" : ""
            table.report("kind", "must be \(kinds), not \"\(text)\"\(hint)")
            return nil
        }
        return kind
    }

    /// Reads the ID of a Google Cloud project, which in old projects begins with a domain and a colon.
    private mutating func project(_ kind: ProxyListenerKind?) -> String? {
        guard let text = table.string("project") else { return nil }
        if kind != nil, kind != .gceMetadata {
            table.report("project", "has no effect: only for kind \"gce-metadata\"")
        }
        let isPlain = text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-.:".utf8.contains($0) }
        guard (1...100).contains(text.utf8.count), isPlain else {
            table.report("project", "\"\(text)\" is not a project ID such as \"my-project-1234\"")
            return nil
        }
        return text
    }

    private func checkSecret(_ message: ProxyListenerMessage) {
        switch message.kind {
        case .gceMetadata where message.doesWithoutSecret != true:
            table.report(
                "no_secret",
                "must be true: without a secret, every program of this user can get tokens"
            )
        case .awsContainer where message.doesWithoutSecret == true:
            table.report("no_secret", "must be false: this protocol requires a secret")
        case .proxy, .awsContainer, .gceMetadata, .azureIdentity, nil: break
        }
    }

    /// Reports an endpoint that would reject every resource: Azure clients always name one.
    private func checkResources(_ message: ProxyListenerMessage, _ session: ConfiguredSession) {
        guard message.kind == .azureIdentity else { return }
        let audiences = (message.sessionAudiences ?? []) + (message.audiences ?? [])
        let scopes = (message.sessionScopes ?? []) + (message.scopes ?? [])
        let hasDefault = scopes.contains { $0.bytewise.hasSuffix("/.default") }
        guard audiences.isEmpty, !hasDefault else { return }
        table.report(
            "audiences",
            "required: Azure clients always request a resource, such as \"https://vault.azure.net\""
        )
    }

    // MARK: The session

    /// Reports a session that this kind of listener cannot serve.
    private func check(_ session: ConfiguredSession, _ message: ProxyListenerMessage) {
        let needsRole = message.kind == .awsContainer
        if needsRole, !session.hasRoleCredentials {
            table.report("session", "session \"\(session.name)\" is not of kind \"aws_role\"")
        }
        if !needsRole, session.hasRoleCredentials {
            table.report(
                "session",
                "session \"\(session.name)\" has no token, only credentials for kind \"aws-container\""
            )
        }
        if message.kind != .proxy, session.bindsTokens {
            table.report("session", "session \"\(session.name)\" has dpop, which endpoints do not support")
        }
        guard let name = message.name else { return }
        let sources = DerivationGraph(Array(sessions.values)).ruleGivers(of: session)
        for ruled in [session] + sources.compactMap({ sessions[$0] }) where !ruled.mayShowItself(to: name) {
            table.report(
                "session",
                "session \"\(ruled.name)\" does not allow this listener",
                .set("allow in [session.\(ruled.name)] to include { proxy = \"\(name)\" }")
            )
        }
    }
}

extension ConfiguredSession {
    /// Returns whether the session has no rules, or at least one that can match the listener `name`.
    fileprivate func mayShowItself(to name: String) -> Bool {
        rules.isEmpty
            || rules.contains { $0.executable == nil && ($0.listener ?? name).bytewise == name.bytewise }
    }

    /// Returns whether its tokens may be sent to `url`, which must be one of its hosts or below its resource,
    /// if it has any.
    fileprivate func serves(_ url: EndpointURL) -> Bool {
        let host = url.host.contains(":") ? "[\(url.host)]" : url.host
        guard let place = HostAndPort("\(host):\(url.port)") else { return false }
        if hosts.contains(where: { HostRule($0)?.closeness(to: place) != nil }) { return true }
        guard let address = server.resourceAddress, let resource = try? EndpointURL(address) else {
            return hosts.isEmpty
        }
        guard resource.origin == url.origin, let top = PathSegments(resource.path),
            let path = PathSegments(url.path)
        else { return false }
        return top.cover(path)
    }
}
