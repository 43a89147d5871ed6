// SPDX-License-Identifier: MIT

import Text

/// A parsed response of the JSON gateway.
///
/// A missing member has its default value. A member of another type is an error.
struct ParsedGatewayResponse: Sendable {
    /// The maximum number of JSON values in a response; each key takes seven.
    ///
    /// That allows 37,000 keys in a range. One line of a watch has fewer, because it contains at most 1,000
    /// revisions.
    private static let maximumValues = 1 << 18

    private let members: JSONObject

    init(_ members: JSONObject) {
        self.members = members
    }

    /// Parses a response.
    ///
    /// - Throws: ``EtcdFailure/malformed(_:)``.
    init(parsing bytes: some Sequence<UInt8>) throws(EtcdFailure) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: bytes, maximumValues: ParsedGatewayResponse.maximumValues)
        } catch {
            throw .malformed("the response is not JSON: \(error)")
        }
        guard let object = value.object else { throw .malformed("the response is not a JSON object") }
        members = object
    }

    func text(_ name: String) throws(EtcdFailure) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string else { throw ParsedGatewayResponse.wrong(name) }
        return text
    }

    /// Returns the number in the member `name`, or 0 if the member is missing.
    ///
    /// 64-bit numbers are strings, and smaller ones are numbers (proto3's JSON mapping).
    func number(_ name: String) throws(EtcdFailure) -> Int64 {
        guard let value = members[name] else { return 0 }
        guard let number = value.integer ?? value.string.flatMap({ Int64($0) }) else {
            throw ParsedGatewayResponse.wrong(name)
        }
        return number
    }

    func identifier(_ name: String) throws(EtcdFailure) -> UInt64 {
        guard let value = members[name] else { return 0 }
        guard let number = (value.literal ?? value.string).flatMap({ UInt64($0) }) else {
            throw ParsedGatewayResponse.wrong(name)
        }
        return number
    }

    func truth(_ name: String) throws(EtcdFailure) -> Bool {
        guard let value = members[name] else { return false }
        guard let truth = value.bool else { throw ParsedGatewayResponse.wrong(name) }
        return truth
    }

    /// Returns the byte string in the member `name`, which is empty if the member is missing.
    func bytes(_ name: String) throws(EtcdFailure) -> [UInt8] {
        guard let text = try text(name) else { return [] }
        guard let bytes = Base64.decoded(text) else { throw ParsedGatewayResponse.wrong(name) }
        return bytes
    }

    func answer(_ name: String) throws(EtcdFailure) -> ParsedGatewayResponse? {
        guard let value = members[name] else { return nil }
        guard let object = value.object else { throw ParsedGatewayResponse.wrong(name) }
        return ParsedGatewayResponse(object)
    }

    func answers(_ name: String) throws(EtcdFailure) -> [ParsedGatewayResponse] {
        guard let value = members[name] else { return [] }
        guard let elements = value.array else { throw ParsedGatewayResponse.wrong(name) }
        var answers: [ParsedGatewayResponse] = []
        for element in elements {
            guard let object = element.object else { throw ParsedGatewayResponse.wrong(name) }
            answers.append(ParsedGatewayResponse(object))
        }
        return answers
    }

    func texts(_ name: String) throws(EtcdFailure) -> [String] {
        guard let value = members[name] else { return [] }
        guard let texts = value.array?.map(\.string), !texts.contains(nil) else {
            throw ParsedGatewayResponse.wrong(name)
        }
        return texts.compactMap(\.self)
    }

    private static func wrong(_ name: String) -> EtcdFailure { .malformed("\(name) has the wrong type") }
}

extension ParsedGatewayResponse {
    /// Parses the header.
    ///
    /// Every response of etcd has a header with a cluster.
    func header() throws(EtcdFailure) -> EtcdHeader {
        guard let header = try answer("header") else { throw .malformed("the response has no header") }
        let place = EtcdHeader(
            cluster: try header.identifier("cluster_id"),
            member: try header.identifier("member_id"),
            revision: try header.number("revision")
        )
        guard place.cluster != 0 else { throw .malformed("the response has no cluster ID") }
        return place
    }

    func keyValue() throws(EtcdFailure) -> EtcdKeyValue {
        EtcdKeyValue(
            key: try bytes("key"),
            value: try bytes("value"),
            createRevision: try number("create_revision"),
            modRevision: try number("mod_revision"),
            lease: try number("lease")
        )
    }

    /// Parses the result of a range request, which must not contain other keys than `keys`.
    func range(of keys: EtcdKeyRange) throws(EtcdFailure) -> EtcdRangeResult {
        var pairs: [EtcdKeyValue] = []
        for pair in try answers("kvs") { pairs.append(try pair.keyValue()) }
        guard pairs.allSatisfy({ keys.contains($0.key) }) else {
            throw .malformed("the response has an etcd key outside the requested range")
        }
        return EtcdRangeResult(pairs: pairs, hasMore: try truth("more"))
    }

    func lease() throws(EtcdFailure) -> EtcdLease {
        if let message = try text("error"), !message.isEmpty {
            throw .refused(GatewayError.cleaned(message))
        }
        let seconds = try number("TTL")
        // A year is longer than any requested lease.
        guard (1...31_536_000).contains(seconds) else { throw .malformed("the lease has no lifetime") }
        return EtcdLease(id: try number("ID"), lifetime: .seconds(seconds))
    }

    func status() throws(EtcdFailure) -> EtcdStatus {
        EtcdStatus(
            version: GatewayError.cleaned(try text("version") ?? ""),
            leader: try identifier("leader"),
            size: try number("dbSize"),
            troubles: try texts("errors").prefix(8).map(GatewayError.cleaned)
        )
    }
}
