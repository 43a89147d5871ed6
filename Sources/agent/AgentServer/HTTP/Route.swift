// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The route of a request: an ``Endpoint``, and the session, login or slot in the path.
enum Route: Equatable, Sendable {
    case agent
    case sessions
    case session(SessionName)
    case token(SessionName)
    case aws(SessionName)
    case refresh(SessionName)
    case report(SessionName)
    case login(SessionName)
    case loginAnswer(SessionName, LoginNumber)
    case logout(SessionName)
    case clientSecret(SessionName)
    case events
    case audit
    case metrics
    case doctor
    case examine
    case restrict
    case lock
    case unlock
    case reload
    case shutdown
    case vault
    case vaultInit
    case vaultSlots
    case vaultSlot(Int)
    case vaultPassphrase
    case vaultRekey
    case fleet
    case fleetJoin
    case fleetLeave
    case fleetRepair
    case fleetRemove

    /// The traits of the route's endpoint.
    var traits: APIEndpointTraits { parts.endpoint.traits }

    /// The session in the path, or `nil` if there is none.
    var session: SessionName? { parts.session }

    /// The session whose token or role credentials are requested.
    var handingOut: SessionName? {
        switch self {
        case .token(let name), .aws(let name): name
        default: nil
        }
    }

    private var parts: (endpoint: Endpoint, session: SessionName?) {
        switch self {
        case .agent: (.agent, nil)
        case .sessions: (.sessions, nil)
        case .session(let name): (.session, name)
        case .token(let name): (.token, name)
        case .aws(let name): (.aws, name)
        case .refresh(let name): (.refresh, name)
        case .report(let name): (.report, name)
        case .login(let name): (.login, name)
        case .loginAnswer(let name, _): (.loginAnswer, name)
        case .logout(let name): (.logout, name)
        case .clientSecret(let name): (.clientSecret, name)
        case .events: (.events, nil)
        case .audit: (.audit, nil)
        case .metrics: (.metrics, nil)
        case .doctor: (.doctor, nil)
        case .examine: (.examine, nil)
        case .restrict: (.restrict, nil)
        case .lock: (.lock, nil)
        case .unlock: (.unlock, nil)
        case .reload: (.reload, nil)
        case .shutdown: (.shutdown, nil)
        case .vault: (.vault, nil)
        case .vaultInit: (.vaultInit, nil)
        case .vaultSlots: (.vaultSlots, nil)
        case .vaultSlot: (.vaultSlot, nil)
        case .vaultPassphrase: (.vaultPassphrase, nil)
        case .vaultRekey: (.vaultRekey, nil)
        case .fleet: (.fleet, nil)
        case .fleetJoin: (.fleetJoin, nil)
        case .fleetLeave: (.fleetLeave, nil)
        case .fleetRepair: (.fleetRepair, nil)
        case .fleetRemove: (.fleetRemove, nil)
        }
    }

    /// Returns whether the endpoint accepts the method.
    ///
    /// An endless response has no `HEAD`.
    func accepts(_ given: HTTPRequest.Method) -> Bool {
        if given == .head { return traits.method == .get && !traits.isEndless }
        return given.rawValue == traits.method.rawValue
    }
}

extension Route {
    /// Finds the route of `path` for any method, or returns `nil` if there is none.
    init?(path: Substring) {
        if let name = Self.tokenSession(path) {
            self = .token(name)
            return
        }
        guard let segments = RequestTargetParser.segments(of: path), segments.first == "v1" else {
            return nil
        }
        let rest = segments.dropFirst()
        for pattern in Pattern.all {
            guard let arguments = pattern.arguments(in: rest) else { continue }
            self.init(pattern.endpoint, arguments)
            return
        }
        return nil
    }

    /// Returns the session that a request names in its path or its query.
    func named(_ query: Substring) -> SessionName? {
        switch self {
        case .events: (try? Self.sessionFilter(query)) ?? nil
        case .audit: (try? AuditQuery(query))?.session
        default: session
        }
    }

    /// Returns the session of the query `session=NAME`, or `nil` if the query is empty.
    static func sessionFilter(_ query: Substring) throws(RequestFailure) -> SessionName? {
        guard !query.isEmpty else { return nil }
        guard let parameters = RequestTargetParser.parameters(of: query), parameters.count == 1,
            parameters[0].name == "session", !parameters[0].value.isEmpty
        else { throw RequestFailure(code: .badRequest, message: "invalid query (parameter: session=NAME)") }
        return try SessionName(asked: parameters[0].value)
    }

    /// Returns whether `path` is about a session, but has a text that cannot be a session name.
    static func namesNoSession(_ path: Substring) -> Bool {
        guard let segments = RequestTargetParser.segments(of: path),
            segments.starts(with: ["v1", "sessions"]),
            segments.count > 2
        else { return false }
        return SessionName(segments[2].text) == nil
    }

    /// Returns the session of a plainly written `/v1/sessions/NAME/token`.
    ///
    /// Nearly all requests have this path, which is found without splitting it.
    private static func tokenSession(_ path: Substring) -> SessionName? {
        let (start, end) = ("/v1/sessions/".utf8, "/token".utf8)
        let bytes = path.utf8
        guard bytes.count > start.count + end.count, bytes.starts(with: start),
            bytes.suffix(end.count).elementsEqual(end)
        else { return nil }
        return SessionName(Substring(bytes.dropFirst(start.count).dropLast(end.count)))
    }

    private init?(_ endpoint: Endpoint, _ arguments: Pattern.Arguments) {
        if let name = arguments.session {
            self.init(endpoint, of: name, login: arguments.number)
        } else if endpoint == .vaultSlot {
            guard let index = arguments.number.flatMap({ Int(exactly: $0) }) else { return nil }
            self = .vaultSlot(index)
        } else {
            self.init(endpoint)
        }
    }

    private init?(_ endpoint: Endpoint, of name: SessionName, login: UInt64?) {
        switch endpoint {
        case .session: self = .session(name)
        case .token: self = .token(name)
        case .aws: self = .aws(name)
        case .refresh: self = .refresh(name)
        case .report: self = .report(name)
        case .login: self = .login(name)
        case .logout: self = .logout(name)
        case .clientSecret: self = .clientSecret(name)
        default:
            guard endpoint == .loginAnswer, let login else { return nil }
            self = .loginAnswer(name, LoginNumber(rawValue: login))
        }
    }

    private init?(_ endpoint: Endpoint) {
        let plain: [Route] = [
            .agent, .sessions, .events, .audit, .metrics, .doctor, .examine, .restrict, .lock, .unlock,
            .reload, .shutdown, .vault, .vaultInit, .vaultSlots, .vaultPassphrase, .vaultRekey, .fleet,
            .fleetJoin, .fleetLeave, .fleetRepair, .fleetRemove,
        ]
        guard let route = plain.first(where: { $0.parts.endpoint == endpoint }) else { return nil }
        self = route
    }
}

/// The path of an endpoint, for comparison with that of a request.
private struct Pattern {
    struct Arguments {
        var session: SessionName?
        var number: UInt64?
    }

    let endpoint: Endpoint
    private let segments: [ByteText]

    static let all = Endpoint.allCases.map { endpoint in
        Pattern(endpoint: endpoint, segments: endpoint.traits.path.bytewise.split(on: "/").map(\.bytewise))
    }

    /// Returns the values of `NAME`, `ID` and `N`, or `nil` if the path does not match.
    func arguments(in path: ArraySlice<ByteText>) -> Arguments? {
        guard path.count == segments.count else { return nil }
        var arguments = Arguments()
        for (segment, given) in zip(segments, path) {
            switch segment {
            case "NAME":
                guard let name = SessionName(given.text) else { return nil }
                arguments.session = name
            case "ID", "N":
                guard let number = UInt64(given.text) else { return nil }
                arguments.number = number
            default: guard segment == given else { return nil }
            }
        }
        return arguments
    }
}

extension SessionName {
    /// Parses the session name in a parameter.
    ///
    /// A text that cannot be a name is reported as unknown.
    init(asked text: String) throws(RequestFailure) {
        guard let name = SessionName(text) else { throw .noSuchName }
        self = name
    }
}
