// SPDX-License-Identifier: MIT

import Text

/// An HTTP response before any disturbance.
package struct IssuerResponse: Equatable, Sendable {
    package typealias Header = IssuerRequest.Header

    package var status: Int
    package var headers: [Header]
    package var body: [UInt8]

    package init(status: Int = 200, headers: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers.map { Header(name: $0.0, value: $0.1) }
        self.body = body
    }

    /// Returns a JSON response that must not be cached (RFC 6749 §5.1).
    package static func json(_ value: JSONValue, status: Int = 200) -> IssuerResponse {
        IssuerResponse(
            status: status,
            headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: value.serialized
        )
    }

    /// Returns an OAuth error (RFC 6749 §5.2).
    package static func failure(
        _ code: String,
        status: Int = 400,
        description: String? = nil
    ) -> IssuerResponse {
        var object = JSONObject()
        object["error"] = .string(code)
        if let description { object["error_description"] = .string(description) }
        return json(.object(object), status: status)
    }

    package static func html(_ text: String, status: Int = 200) -> IssuerResponse {
        IssuerResponse(
            status: status,
            headers: [("Content-Type", "text/html; charset=utf-8")],
            body: Array(text.utf8)
        )
    }

    package static func redirect(to location: String, status: Int = 302) -> IssuerResponse {
        IssuerResponse(status: status, headers: [("Location", location)])
    }

    package static let notFound = html("<p>There is nothing here.</p>", status: 404)

    /// Serializes the response.
    ///
    /// `Content-Length` is added unless the headers already delimit the body.
    func serialized(closing: Bool, omittingBody: Bool = false) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(status.reasonPhrase)\r\n"
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        let names = headers.map { $0.name.lowercased() }
        if !names.contains("content-length"), !names.contains("transfer-encoding") {
            text += "Content-Length: \(body.count)\r\n"
        }
        if closing, !names.contains("connection") { text += "Connection: close\r\n" }
        text += "\r\n"
        return Array(text.utf8) + (omittingBody ? [] : body)
    }
}

extension Int {
    fileprivate var reasonPhrase: String {
        switch self {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 302: "Found"
        case 307: "Temporary Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Status \(self)"
        }
    }
}
