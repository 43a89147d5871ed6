// SPDX-License-Identifier: MIT

import AgentProtocol
import NIOCore
import Text

/// Answers requests as the credential address of a cloud does.
struct EndpointService {
    private let services: ListenerServices
    private let kind: ListenerKind
    private let rules: EndpointRules

    init(_ services: ListenerServices, _ kind: ListenerKind, _ rules: EndpointRules) {
        self.services = services
        self.kind = kind
        self.rules = rules
    }

    /// Answers `request`, now or when the agent has answered.
    func answer(_ request: ProxiedRequest, _ answered: @escaping (LocalResponse) -> Void) {
        // Real ones refuse it too: it comes from a proxy, which speaks for anybody.
        guard !request.has(.forwardedPart), !request.has(.forwarded) else {
            return answered(LocalResponse(HTTPMessageError(403, "requests of proxies are not answered")))
        }
        guard request.method.spells("GET") || request.isHead else {
            return answered(LocalResponse(HTTPMessageError(405, "only GET is answered here")))
        }
        guard let query = FormEncoding.decoded((request.query ?? []).text) else {
            return answered(LocalResponse(.malformed("the query cannot be read")))
        }
        let call = EndpointRequest(request: request, path: request.path.text, query: query, rules: rules)
        switch kind {
        case .awsContainer: AWSContainer(self).answer(call, answered)
        case .azureIdentity: AzureIdentity(self).answer(call, answered)
        case .gceMetadata: GCEMetadata(self).answer(call, answered)
        case .proxy: answered(LocalResponse(HTTPMessageError(404, "nothing is here")))
        }
    }

    /// Gets a token of the session, or its ID token, that is for what `wish` says.
    func token(
        _ wish: EndpointTokenRequest,
        isID: Bool = false,
        _ answered: @escaping (Result<AgentToken, AgentError>) -> Void
    ) {
        var demand = services.table.demand
        if !wish.scopes.isEmpty { demand.scopes = wish.scopes }
        if let audience = wish.audience { demand.audience = audience }
        demand.wantsIDToken = isID
        // Nobody tells here when a token is refused.
        demand.reportsRefusals = false
        ask(demand.request(plainText: false)) { result in
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

    /// Asks the agent on behalf of this endpoint.
    func ask(_ request: AgentRequest, _ answered: @escaping AgentConnectionPool.Answered) {
        var request = request
        request.listener = services.table.claim
        services.agent.ask(request, answered)
    }

    var session: String { services.table.demand.session }

    /// Asks for the credentials once, so that the agent has them when a program wants them.
    func prepare() {
        guard kind == .awsContainer else { return }
        ask(AgentRequest(.get, "sessions", session, "aws")) { _ in }
    }
}

/// A request at an endpoint.
struct EndpointRequest {
    let request: ProxiedRequest
    let path: String
    let query: [(name: String, value: String)]
    let rules: EndpointRules

    /// The only value of a parameter; nil if there is none, or more than one.
    func parameter(_ name: String) -> String? {
        let values = query.filter { $0.name.bytewise == name.bytewise }
        return values.count == 1 ? values[0].value : nil
    }

    /// Whether a parameter comes more than once, so that nobody can say which one counts.
    func repeats(_ name: String) -> Bool {
        query.count { $0.name.bytewise == name.bytewise } > 1
    }

    /// Whether the only field `name` holds exactly the listener's secret.
    func showsSecret(in name: StaticString) -> Bool {
        guard let value = request.only(name), !rules.secret.isEmpty, value.count == rules.secret.count else {
            return false
        }
        // Every byte is looked at, so that the time tells nothing about where a guess is wrong.
        return zip(value, rules.secret).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// What a token is asked to be for, beside what the session's tokens are for anyway.
struct EndpointTokenRequest: Equatable {
    var scopes: [String] = []
    var audience: String?
}

extension EndpointRules {
    /// What `scopes` amount to; nil if they may not be asked for.
    func wish(scopes wanted: [String]) -> EndpointTokenRequest? {
        let own = Set(sessionScopes.map(\.bytewise))
        guard !wanted.allSatisfy({ own.contains($0.bytewise) }) else { return EndpointTokenRequest() }
        let allowed = own.union(scopes.map(\.bytewise))
        guard wanted.allSatisfy({ allowed.contains($0.bytewise) }) else { return nil }
        return EndpointTokenRequest(scopes: wanted)
    }

    /// What an audience amounts to; nil if it may not be asked for.
    func wish(audience wanted: String) -> EndpointTokenRequest? {
        if sessionAudiences.contains(where: { $0.bytewise == wanted.bytewise }) {
            return EndpointTokenRequest()
        }
        guard audiences.contains(where: { $0.bytewise == wanted.bytewise }) else { return nil }
        return EndpointTokenRequest(audience: wanted)
    }

    /// What the audience of an ID token amounts to; nil if it may not be asked for.
    func wish(ofIDTokenFor wanted: String) -> EndpointTokenRequest? {
        sessionClient?.bytewise == wanted.bytewise ? EndpointTokenRequest() : wish(audience: wanted)
    }

    /// What a resource amounts to: an audience, or what Entra ID calls its default scope; nil if it may not be asked for.
    ///
    /// One slash at its end counts for nothing: libraries leave it out, and some audiences are written with it.
    func wish(resource wanted: String) -> EndpointTokenRequest? {
        let bare = wanted.hasSuffix("/") ? String(wanted.dropLast()) : wanted
        let names = [wanted, bare, bare + "/"]
        return names.lazy.compactMap { wish(audience: $0) }.first
            ?? names.lazy.compactMap { wish(scopes: ["\($0)/.default"]) }.first
    }
}
