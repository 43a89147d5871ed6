// SPDX-License-Identifier: MIT

import AgentProtocol
import Text
import TokenCore

/// The route of a request: an ``Endpoint``, and the session, login or slot in the path.
struct Route: Equatable, Sendable {
    let endpoint: Endpoint
    /// The session in the path, or `nil` if there is none.
    var session: SessionName?
    /// The login or slot in the path, or `nil` if there is none.
    var number: UInt64?

    /// The traits of the route's endpoint.
    var traits: APIEndpointTraits { endpoint.traits }

    /// The session whose token or role credentials are requested.
    var handingOut: SessionName? { [.token, .aws].contains(endpoint) ? session : nil }

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
            self.init(endpoint: .token, session: name)
            return
        }
        guard let segments = RequestTargetParser.segments(of: path), segments.first == "v1" else {
            return nil
        }
        let found = Endpoint.allCases.lazy.compactMap { Route($0, in: segments.dropFirst()) }
        guard let route = found.first else { return nil }
        self = route
    }

    /// Returns the session that a request names in its path or its query.
    func named(_ query: Substring) -> SessionName? {
        switch endpoint {
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

    /// Finds the values of `NAME`, `ID` and `N` in the path of `endpoint`, or returns `nil` if `path` is another.
    private init?(_ endpoint: Endpoint, in path: ArraySlice<ByteText>) {
        self.init(endpoint: endpoint)
        let segments = Self.segments[endpoint] ?? []
        guard path.count == segments.count else { return nil }
        for (segment, given) in zip(segments, path) {
            switch segment {
            case "NAME":
                guard let name = SessionName(given.text) else { return nil }
                session = name
            case "ID", "N":
                guard let number = UInt64(given.text), Int(exactly: number) != nil || segment == "ID" else {
                    return nil
                }
                self.number = number
            default: guard segment == given else { return nil }
            }
        }
    }

    private static let segments = Dictionary(
        uniqueKeysWithValues: Endpoint.allCases.map { endpoint in
            (endpoint, endpoint.traits.path.bytewise.split(on: "/").map(\.bytewise))
        }
    )
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
