// SPDX-License-Identifier: MIT

import Text

/// A response with an error status, with the beginning of its body.
struct ResourceErrorResponse {
    let reply: ResourceResponse
    let body: [UInt8]
    /// The JSON-RPC error in the body, if there is one.
    private let stated: (failure: RPCFailure, hasID: Bool)?

    init(_ reply: ResourceResponse, body: [UInt8]) {
        self.reply = reply
        self.body = body
        stated = RPCFailure.stated(in: body)
    }

    /// Whether the server has ended the session of the request.
    ///
    /// The Model Context Protocol uses status 404 for that (Streamable HTTP, Session Management). Many
    /// servers use 400. A 400 counts only with a JSON-RPC error without an identifier, which shows that the
    /// server has not processed the request.
    var endsSession: Bool { reply.status == 404 || reply.status == 400 && stated?.hasID == false }
}

extension ResourceResponse {
    /// The rejection, whose body is read, or `nil` if the status is a success.
    var rejection: ResourceErrorResponse? {
        get async {
            (200..<300).contains(status) ? nil : ResourceErrorResponse(self, body: await bodyPrefix())
        }
    }
}

extension RPCFailure {
    /// Creates the error for a rejected request, in the server's own words if it sent a JSON-RPC error.
    init(_ rejection: ResourceErrorResponse) {
        if let verbatim = RPCFailure.stated(in: rejection.body)?.failure {
            self = verbatim
            return
        }
        let reply = rejection.reply
        switch reply.status {
        case 300..<400:
            let place = reply.field("location").map { " to \(RPCFailure.quoted($0))" } ?? ""
            self.init(.failed, "refusing to follow a redirect\(place)")
        case 404:
            self.init(.failed, "the server found nothing at this URL (status 404)")
        case 429, 503:
            // `Retry-After` may also be an HTTP date (RFC 9110 §10.2.3).
            let delay = reply.field("retry-after").flatMap { UInt32($0) }.map { Int64($0) }
            let remedy = delay.map { Remedy.retry("in \(DurationPhrase.short($0))") }
            let advice = remedy.map { " \($0.parenthesized)" } ?? ""
            self.init(.failed, "the server is unavailable (status \(reply.status))\(advice)")
        default:
            let reason = RPCFailure.reason(in: rejection).map { ": \(RPCFailure.quoted($0))" } ?? ""
            self.init(.failed, "the server responded with status \(reply.status)\(reason)")
        }
    }

    /// Creates the error for a rejection that no other token helps against, in the server's own words if
    /// possible.
    init(refusal reply: ResourceResponse, _ body: [UInt8]) {
        if let verbatim = RPCFailure.stated(in: body)?.failure {
            self = verbatim
            return
        }
        let challenges = Challenges(reply.list("www-authenticate"))
        let words = ["error_description", "error"].lazy.compactMap { name in
            challenges.value(of: name, scheme: "Bearer") ?? challenges.value(of: name, scheme: "DPoP")
        }
        let reason = words.first.map { ": \(RPCFailure.quoted($0))" } ?? ""
        self.init(.failed, "the server rejected the request with status \(reply.status)\(reason)")
    }

    /// Returns the JSON-RPC error in a body and whether it names a request, or `nil` if there is none.
    static func stated(in body: [UInt8]) -> (failure: RPCFailure, hasID: Bool)? {
        (try? RPCPacket(parsing: body)).flatMap { stated(in: $0) }
    }

    /// Returns the error that is the only message of a packet, and whether it names a request, or `nil` if there
    /// is none.
    static func stated(in packet: RPCPacket) -> (failure: RPCFailure, hasID: Bool)? {
        guard let message = packet.single,
            case .response(let id) = message.kind, let error = message.members["error"],
            let failure = RPCFailure(verbatim: error, of: packet)
        else { return nil }
        // `hasID` is false without an identifier, not for one that is too long or of another type.
        let isMissing =
            message.members["id"].map { RPCPacket.small(packet.bytes, $0) == .null } ?? true
        return (failure, id != nil || !isMissing)
    }

    /// Returns the message of a body in another form, which is a JSON object or plain text, or `nil` for
    /// other types.
    private static func reason(in rejection: ResourceErrorResponse) -> String? {
        let object = (try? JSONValue(parsing: ByteOrderMark.dropped(from: rejection.body)))?.object
        if let object {
            let nested = object["error"]?.object?["message"]?.string
            let plain = ["error_description", "message", "detail", "error"].lazy.compactMap {
                object[$0]?.string
            }
            return nested ?? plain.first
        }
        let type = rejection.reply.mediaType
        guard type == "text/plain" || type == "",
            let text = String(validating: rejection.body, as: UTF8.self),
            !text.utf8.allSatisfy({ $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 })
        else { return nil }
        return String(decoding: Array(text.utf8)[...].trimmedOfBlanks, as: UTF8.self)
    }
}
