// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// A server of credential requests in the protocol of a cloud.
struct CloudCredentialService {
    private let parts: ListenerParts
    private let kind: ProxyListenerKind
    private let rules: EndpointRules

    init(_ parts: ListenerParts, _ kind: ProxyListenerKind, _ rules: EndpointRules) {
        self.parts = parts
        self.kind = kind
        self.rules = rules
    }

    /// Answers `request`, at once or after the agent has responded.
    func answer(_ request: ProxiedRequest, _ answered: @escaping (LocalResponse) -> Void) {
        // Real endpoints reject such requests too: a proxy may forward requests of anybody.
        guard !request.has(.forwardedPart), !request.has(.forwarded) else {
            return answered(LocalResponse(ForwardingError(403, "requests from proxies are not allowed")))
        }
        guard request.method.spells("GET") || request.isHead else {
            return answered(LocalResponse(ForwardingError(405, "only GET is supported")))
        }
        guard let query = FormEncoding.decoded((request.query ?? []).text) else {
            return answered(LocalResponse(.malformed("cannot parse the query")))
        }
        let call = EndpointRequest(request: request, path: request.path.text, query: query, rules: rules)
        switch kind {
        case .awsContainer: AWSContainer(self).answer(call, answered)
        case .azureIdentity: AzureIdentity(self).answer(call, answered)
        case .gceMetadata: GCEMetadata(self).answer(call, answered)
        case .proxy: answered(LocalResponse(ForwardingError(404, "not found")))
        }
    }

    /// Gets an access token or ID token of the session, for the scopes and audience in `requested`.
    func token(
        _ requested: EndpointTokenRequest,
        isID: Bool = false,
        _ answered: @escaping (Result<AgentToken, AgentError>) -> Void
    ) {
        var tokenRequest = parts.table.tokenRequest
        if !requested.scopes.isEmpty { tokenRequest.scopes = requested.scopes }
        if let audience = requested.audience { tokenRequest.audience = audience }
        tokenRequest.wantsIDToken = isID
        // A client of an endpoint has no way to report a rejected token.
        tokenRequest.reportsRefusals = false
        ask(tokenRequest.request(plainText: false)) { result in
            answered(
                result.flatMap { response in
                    do throws(AgentError) {
                        return .success(try AgentToken(parsing: response.body))
                    } catch {
                        return .failure(error)
                    }
                }
            )
        }
    }

    /// Sends a request to the agent in the name of this endpoint.
    func ask(_ request: AgentRequest, _ answered: @escaping AgentConnectionPool.Answered) {
        var request = request
        request.listener = parts.table.claim
        parts.agent.ask(request, answered)
    }

    var session: String { parts.table.tokenRequest.session }

    /// Requests the credentials once in advance, so that the agent has them when a program asks.
    func prepare() {
        guard kind == .awsContainer else { return }
        ask(AgentRequest(.get, "sessions", session, "aws")) { _ in }
    }
}

/// A request to an endpoint.
struct EndpointRequest {
    let request: ProxiedRequest
    let path: String
    let query: [(name: String, value: String)]
    let rules: EndpointRules

    /// Returns the value of a parameter that occurs exactly once.
    ///
    /// - Returns: the value, or `nil` if the parameter is missing or repeated.
    func parameter(_ name: String) -> String? {
        let values = query.filter { $0.name.bytewise == name.bytewise }
        return values.count == 1 ? values[0].value : nil
    }

    /// Returns whether a parameter is repeated, so that its value is ambiguous.
    func repeats(_ name: String) -> Bool {
        query.count { $0.name.bytewise == name.bytewise } > 1
    }

    /// Returns whether the field `name` occurs once and holds exactly the listener's secret.
    func showsSecret(in name: StaticString) -> Bool {
        guard let value = request.only(name), !rules.secret.isEmpty, value.count == rules.secret.count else {
            return false
        }
        // The comparison reads every byte, so that its duration does not reveal where a guess is wrong.
        return zip(value, rules.secret).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The scopes and audience of a token request, where they differ from those of the session.
struct EndpointTokenRequest: Equatable {
    var scopes: [String] = []
    var audience: String?
}

extension EndpointRules {
    /// Returns the token request for `wanted` scopes, or `nil` if they are not allowed.
    func tokenRequest(scopes wanted: [String]) -> EndpointTokenRequest? {
        let own = Set(sessionScopes.map(\.bytewise))
        guard !wanted.allSatisfy({ own.contains($0.bytewise) }) else { return EndpointTokenRequest() }
        let allowed = own.union(scopes.map(\.bytewise))
        guard wanted.allSatisfy({ allowed.contains($0.bytewise) }) else { return nil }
        return EndpointTokenRequest(scopes: wanted)
    }

    /// Returns the token request for an audience, or `nil` if it is not allowed.
    func tokenRequest(audience wanted: String) -> EndpointTokenRequest? {
        if sessionAudiences.contains(where: { $0.bytewise == wanted.bytewise }) {
            return EndpointTokenRequest()
        }
        guard audiences.contains(where: { $0.bytewise == wanted.bytewise }) else { return nil }
        return EndpointTokenRequest(audience: wanted)
    }

    /// Returns the token request for an ID token with an audience, or `nil` if it is not allowed.
    func tokenRequest(ofIDTokenFor wanted: String) -> EndpointTokenRequest? {
        sessionClient?.bytewise == wanted.bytewise ? EndpointTokenRequest() : tokenRequest(audience: wanted)
    }

    /// Returns the token request for a resource, or `nil` if it is not allowed.
    ///
    /// A resource is an audience, or the prefix of the scope `/.default` of Entra ID. One trailing slash is
    /// ignored: libraries omit it, and some audiences are written with it.
    func tokenRequest(resource wanted: String) -> EndpointTokenRequest? {
        let bare = wanted.hasSuffix("/") ? String(wanted.dropLast()) : wanted
        let names = [wanted, bare, bare + "/"]
        return names.lazy.compactMap { tokenRequest(audience: $0) }.first
            ?? names.lazy.compactMap { tokenRequest(scopes: ["\($0)/.default"]) }.first
    }
}
