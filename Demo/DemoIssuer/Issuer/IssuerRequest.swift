// SPDX-License-Identifier: MIT

import Text

/// An HTTP request as received by the issuer, also used in the request log.
package struct IssuerRequest: Sendable {
    package struct Header: Equatable, Sendable {
        package var name: String
        package var value: String
    }

    /// The number of the request in this issuer's log, from 1.
    package internal(set) var number = 0
    /// The number of the connection at this issuer, from 1.
    package var connection: Int
    /// The time since the issuer was created.
    package internal(set) var receivedAt: Duration = .zero
    package var method: String
    /// The path without the query.
    package var path: String
    package var query: FormFields
    package var headers: [Header]
    package var body: [UInt8]
    /// The fields of a form body, empty for any other body.
    package private(set) var form: FormFields

    package init(
        connection: Int = 0,
        method: String,
        target: String,
        headers: [Header] = [],
        body: [UInt8] = []
    ) {
        self.connection = connection
        self.method = method
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts.first.map(String.init) ?? ""
        query = parts.count > 1 ? FormFields(parsing: parts[1].utf8) : FormFields()
        self.headers = headers
        self.body = body
        form = FormFields()
        if header("content-type")?.hasPrefix("application/x-www-form-urlencoded") == true {
            form = FormFields(parsing: body)
        }
    }

    /// Returns the first header with a name, ignoring case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Returns the values of all headers with a name, ignoring case.
    func headers(named name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The body as a JSON object.
    package var json: JSONObject? { (try? JSONValue(parsing: body))?.object }

    /// The token of `Authorization: Bearer …` (RFC 6750 §2.1).
    package var bearerToken: String? { token(scheme: "bearer") }

    /// The token of `Authorization: DPoP …` (RFC 9449 §7.1).
    package var proofBoundToken: String? { token(scheme: "dpop") }

    private func token(scheme: String) -> String? {
        guard let header = header("authorization"), header.lowercased().hasPrefix("\(scheme) ") else {
            return nil
        }
        return String(header.dropFirst(scheme.count + 1))
    }

    /// The text `user:secret` of `Authorization: Basic …` (RFC 7617 §2).
    package var basicCredentials: String? {
        guard let header = header("authorization"), header.hasPrefix("Basic ") else { return nil }
        return Base64.decoded(header.dropFirst("Basic ".count)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The log entry as JSON.
    package var record: JSONValue {
        let headers = headers.map { JSONValue.strings([$0.name, $0.value]) }
        return [
            "number": .integer(number),
            "connection": .integer(connection),
            "received_at_ms": .integer(receivedAt.milliseconds),
            "method": .string(method),
            "path": .string(path),
            "query": query.record,
            "headers": .array(headers),
            "form": form.record,
            "body": .string(String(decoding: body, as: UTF8.self)),
        ]
    }
}

extension FormFields {
    fileprivate var record: JSONValue {
        var object = JSONObject()
        for field in fields { object[field.name] = .string(field.value) }
        return .object(object)
    }
}

extension Duration {
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
