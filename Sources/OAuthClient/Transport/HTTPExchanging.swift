// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Sends one HTTP request and brings its answer; the seam between protocol and network.
protocol HTTPExchanging: Sendable {
    /// Sends `request` once, over a connection of its own.
    func send(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse
}

/// One request to an authorization server.
struct OutgoingRequest: Sendable {
    /// GET without a body, POST with one, unless ``deletes``.
    var url: EndpointURL
    /// DELETE, without a body.
    var deletes = false
    /// Names in lower case.
    var headers: [(name: String, value: String)] = []
    var form: FormBody?
    /// In place of ``form``.
    var json: JSONRequestBody?
    var trust: ServerTrust
    /// Shown to the server in the handshake.
    var identity: HandshakeIdentity?
    /// Refuse to talk to an address inside a private network: set where a server's own metadata, not the
    /// configuration, named the host.
    var publicAddressOnly = false
    /// Where to connect to in place of what a resolver says about the host.
    var address: String?
    /// Whether the body of the answer is wanted: where the header says all, the body may as well never end.
    var readsBody = true
    /// From the call to the last byte of the answer, where that is to be shorter than ``HTTPLimits/total``.
    var limit: Duration?

    /// Whether it is a POST.
    var hasBody: Bool { form != nil || json != nil }
}

/// One complete answer.
struct ServerResponse: Equatable, Sendable {
    var status: Int
    /// Names in lower case, in the server's order.
    var headers: [Header] = []
    /// At most ``HTTPLimits/body`` bytes; none if nobody wanted it.
    var body: [UInt8] = []
    /// The server was reached at an address of a private network.
    var isInternal = false
    /// When its request was about to be sent, if that was not this one but an earlier one that was not answered.
    var sentAt: Instant?
    /// The body as ``ServerDependencies/exchanged(_:)`` has read it.
    var reading = Reading.notYet

    /// The body as JSON.
    enum Reading: Equatable, Sendable {
        case notYet
        case object(JSONObject)
        /// It is no JSON object.
        case none

        /// Reads `body`, whose byte order mark says nothing.
        init(_ body: [UInt8]) {
            self =
                (try? JSONValue(parsing: ByteOrderMark.dropped(from: body)).object).map(Reading.object)
                ?? .none
        }

        fileprivate var object: JSONObject? {
            guard case .object(let object) = self else { return nil }
            return object
        }
    }

    struct Header: Equatable, Sendable {
        var name: String
        var value: String
    }

    /// The same answer of a server that was reached at such an address, or not.
    func at(isInternal: Bool) -> ServerResponse {
        var reply = self
        reply.isInternal = isInternal
        return reply
    }

    /// The body as a JSON object, whatever its content type says.
    var jsonObject: JSONObject? { (reading == .notYet ? Reading(body) : reading).object }

    /// The first value of the header `name`, which is given in lower case.
    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// Limits of one exchange.
enum HTTPLimits {
    /// Bytes of a body: the largest token answers seen in the field are below 100 KiB.
    static let body = 1 << 20
    /// Bytes of all headers together, and of one.
    static let headers = 64 << 10
    /// Header lines.
    static let headerCount = 128
    /// Name resolution, TCP and TLS together.
    static let connect: Duration = .seconds(5)
    /// A try without a connection after this is started again when the network returns: the second TCP
    /// handshake packet has then gone out (RFC 6298 §2.1), and the next one would take at least twice as
    /// long.
    static let hanging: Duration = .seconds(1)
    /// From the call to the last byte of the answer.
    static let total: Duration = .seconds(30)
}

/// Why there is no complete answer; each case says whether the server can have seen the request.
enum TransportFailure: Error, Equatable, Sendable {
    /// Nothing was sent: no address, no connection, no TLS handshake in time.
    case unreachable(String)
    /// Nothing was sent: the server is not the one we trust.
    case insecure(String)
    /// Nothing was sent: no authority that we know vouches for the server's certificate.
    case untrusted(String)
    /// The request was sent, wholly or in part; the answer did not arrive or not to its end.
    case ambiguous(String)
    /// The answer arrived and is larger than any we accept.
    case oversized(String)
    /// Nothing was sent: our own settings do not work.
    case misconfigured(String)

    private var isUntrusted: Bool {
        if case .untrusted = self { true } else { false }
    }

    /// What the failure means for a session.
    func refreshFailure(at url: EndpointURL) -> RefreshFailure {
        let (kind, message): (FailureClass, String) =
            switch self {
            case .unreachable(let message): (.unreachable, message)
            case .insecure(let message), .untrusted(let message): (.insecure, message)
            case .ambiguous(let message): (.ambiguous, message)
            case .oversized(let message): (.misbehaved, message)
            case .misconfigured(let message): (.misconfigured, message)
            }
        return RefreshFailure(
            kind: kind,
            message: ServerText.cleaned("\(url.hostAndPort): \(message)"),
            remedy: isUntrusted ? "if its authority is a private one, name its certificate in ca_file" : nil
        )
    }
}
