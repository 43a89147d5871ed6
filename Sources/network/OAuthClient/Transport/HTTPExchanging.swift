// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The interface between protocol code and the network: sends a request and returns the response.
protocol HTTPExchanging: Sendable {
    /// Sends `request` once, over a new connection.
    ///
    /// - Throws: The reason there is no complete response. Each case says whether the server can have seen
    ///   the request.
    func send(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse
}

/// One request to an authorization server.
struct OutgoingRequest: Sendable {
    /// The address.
    ///
    /// The method is DELETE if ``deletes``, GET without parameters or where ``format`` says so, and POST
    /// otherwise.
    var url: EndpointURL
    /// Whether the method is DELETE.
    var deletes = false
    /// The headers, with names in lower case.
    var headers: [(name: String, value: String)] = []
    /// The parameters, with the names of the specifications.
    var form: FormBody?
    /// The way to send the ``form``.
    var format = TokenRequestFormat()
    /// The body if there is no ``form``.
    var json: JSONRequestBody?
    var trust: ServerTrust
    /// The client certificate for the TLS handshake.
    var identity: HandshakeIdentity?
    /// Whether to refuse addresses in a private network.
    ///
    /// Set if the host comes from a server's metadata and not from the configuration.
    var publicAddressOnly = false
    /// The address to connect to, or `nil` to resolve the host of ``url``.
    var address: String?
    /// Whether to read the body of the response.
    ///
    /// The body is not read, and may be endless, if the header is enough.
    var readsBody = true
    /// The time from the call to the last byte of the response, if shorter than ``HTTPLimits/total``.
    var limit: Duration?

    /// Whether the request sends parameters, unlike the fetch of a public document.
    var hasParameters: Bool { form != nil || json != nil }

    /// Whether the parameters are in the URL, so that the body is empty.
    var hasParametersInURL: Bool { form != nil && format.placement.isURL }

    /// The path and the query (RFC 9112 §3.2.1).
    var target: String {
        var parts = [url.query].compactMap(\.self)
        if hasParametersInURL, let form {
            let text = unsafe form.withBytes(names: format.names) {
                unsafe String(decoding: $0, as: UTF8.self)
            }
            if !text.isEmpty { parts.append(text) }
        }
        return (url.path.isEmpty ? "/" : url.path) + (parts.isEmpty ? "" : "?" + parts.joined(separator: "&"))
    }
}

/// One complete response.
struct ServerResponse: Equatable, Sendable {
    var status: Int
    /// The headers in the server's order, with names in lower case.
    var headers: [Header] = []
    /// The body, with at most ``HTTPLimits/body`` bytes.
    ///
    /// Empty if the request did not read it.
    var body: [UInt8] = []
    /// Whether the server was reached at an address in a private network.
    var isInternal = false
    /// The time just before the request was sent, if this response belongs to an earlier request without a
    /// response.
    var sentAt: Instant?
    /// The body as ``ServerDependencies/exchanged(_:)`` parsed it.
    var reading = ParsedBody.notYet

    /// The body as JSON.
    enum ParsedBody: Equatable, Sendable {
        case notYet
        case object(JSONObject)
        /// The body is not a JSON object.
        case none

        /// Parses `body`, ignoring a byte order mark.
        init(_ body: [UInt8]) {
            self =
                (try? JSONValue(parsing: ByteOrderMark.dropped(from: body)).object).map(ParsedBody.object)
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

    /// Returns the response with ``isInternal`` set to `isInternal`.
    func at(isInternal: Bool) -> ServerResponse {
        var reply = self
        reply.isInternal = isInternal
        return reply
    }

    /// The body as a JSON object, whatever its content type is, or `nil` if it is not one.
    var jsonObject: JSONObject? { (reading == .notYet ? ParsedBody(body) : reading).object }

    /// Returns the first value of the header `name`, which must be in lower case.
    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// Limits of one exchange.
enum HTTPLimits {
    /// The maximum number of bytes of a body.
    ///
    /// The largest token responses seen in practice are below 100 KiB.
    static let body = 1 << 20
    /// The maximum number of bytes of all headers together, and so of one.
    static let headers = 64 << 10
    /// The maximum number of header lines.
    static let headerCount = 128
    /// The time for name resolution, TCP and TLS together.
    static let connect: Duration = .seconds(5)
    /// The age at which an attempt without a connection is restarted when the network returns.
    ///
    /// By then the second TCP handshake packet has been sent (RFC 6298 §2.1), and the next one would take at
    /// least twice as long.
    static let hanging: Duration = .seconds(1)
    /// The time from the call to the last byte of the response.
    static let total: Duration = .seconds(30)
}

/// The reason there is no complete response.
///
/// Each case says whether the server can have seen the request.
enum TransportFailure: Error, Equatable, Sendable {
    /// Nothing was sent: there was no address, no connection, or no TLS handshake in time.
    case unreachable(String)
    /// Nothing was sent: the server is not the trusted one.
    case insecure(String)
    /// Nothing was sent: the server's certificate is not signed by a trusted authority.
    case untrusted(String)
    /// The request was sent, wholly or in part.
    ///
    /// The response did not arrive, or not completely.
    case ambiguous(String)
    /// The response arrived and is larger than the limits allow.
    case oversized(String)
    /// Nothing was sent: the agent's own settings do not work.
    case misconfigured(String, remedy: Remedy? = nil)
    /// Nothing was sent: a file or program that the connection needs failed.
    case helperFailed(RefreshFailure)

    private var remedy: Remedy? {
        switch self {
        case .untrusted: .set("ca_file to the certificate of the server's CA")
        case .misconfigured(_, let remedy): remedy
        case .helperFailed(let failure): failure.remedy
        case .unreachable, .insecure, .ambiguous, .oversized: nil
        }
    }

    /// Converts the failure to one of a session.
    func refreshFailure(at url: EndpointURL) -> RefreshFailure {
        let (kind, message): (FailureClass, String) =
            switch self {
            case .unreachable(let message): (.unreachable, message)
            case .insecure(let message), .untrusted(let message): (.insecure, message)
            case .ambiguous(let message): (.ambiguous, message)
            case .oversized(let message): (.misbehaved, message)
            case .misconfigured(let message, _): (.misconfigured, message)
            case .helperFailed(let failure): (failure.kind, failure.message)
            }
        return RefreshFailure(
            kind: kind,
            message: ServerText.cleaned("\(url.hostAndPort): \(message)"),
            remedy: remedy
        )
    }
}
