// SPDX-License-Identifier: MIT

/// A route of the issuer, with the requests it matches and the handler that answers them.
///
/// Tests add their own routes, to simulate back ends that this issuer does not implement.
package struct Route: Sendable {
    typealias Handler = @Sendable (IssuerRequest, inout IssuerState) throws -> IssuerResponse

    /// The method, or `nil` for any method.
    let method: String?
    let path: String
    let handler: Handler

    init(_ method: String?, _ path: String, handler: @escaping Handler) {
        self.method = method
        self.path = path
        self.handler = handler
    }

    /// Creates a route that does not use the issuer's state.
    package init(
        _ method: String?,
        _ path: String,
        answer: @escaping @Sendable (IssuerRequest) -> IssuerResponse
    ) {
        self.init(method, path) { request, _ in answer(request) }
    }

    func matches(_ request: IssuerRequest) -> Bool {
        path == request.path && (method == nil || method == request.method)
    }

    /// The routes of every new issuer.
    static let standard: [Route] = [
        Route("GET", "/.well-known/openid-configuration") { _, state in try state.discovery() },
        Route("GET", "/.well-known/oauth-authorization-server") { _, state in try state.discovery() },
        Route("GET", "/jwks") { _, state in try state.keySet() },
        Route("GET", "/authorize") { request, state in try state.authorize(request) },
        Route("POST", "/par") { request, state in try state.push(request) },
        Route("POST", "/token") { request, state in try state.token(request) },
        Route("POST", "/device_authorization") { request, state in try state.startDevice(request) },
        Route("GET", "/device") { _, _ in .html("<p>POST user_code and user to approve.</p>") },
        Route("POST", "/device") { request, state in try state.decideDevice(request.form) },
        Route("POST", "/revoke") { request, state in try state.revoke(request) },
        Route("POST", "/introspect") { request, state in try state.introspect(request) },
        Route(nil, "/userinfo") { request, state in try state.userinfo(request) },
        Route(nil, "/resource") { request, state in try state.resource(request) },
        Route("GET", "/end_session") { request, state in state.endSession(request) },
    ]
}

/// An error in OAuth's terms (RFC 6749 §5.2).
struct OAuthErrorResponse: Error {
    var code: String
    var status = 400
    var description: String?
    var headers: [IssuerResponse.Header] = []

    var reply: IssuerResponse {
        var reply = IssuerResponse.failure(code, status: status, description: description)
        reply.headers += headers
        return reply
    }
}
