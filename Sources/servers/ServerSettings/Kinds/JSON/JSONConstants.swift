// SPDX-License-Identifier: MIT

import Text

/// The members and headers from the configuration that every request to one back end contains.
package struct JSONConstants: Equatable, Sendable {
    /// A member of the body, or a header.
    package struct Entry: Equatable, Sendable {
        package var name: String
        package var value: Value

        package init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// The value of an ``Entry``.
    package indirect enum Value: Equatable, Sendable {
        /// A text.
        ///
        /// For a header, this and ``secret(_:)`` are the only possible values.
        case text(String)
        case integer(Int64)
        case boolean(Bool)
        /// A secret in a file or from a command, read when a request needs it.
        case secret(SecretSource)
        case object([Entry])
    }

    /// A secret, and the key that names it in the configuration, such as `headers.X-Api-Key`.
    package struct Secret: Equatable, Sendable {
        package var key: String
        package var source: SecretSource
        package var isHeader: Bool
    }

    package var members: [Entry]
    package var headers: [Entry]

    package init(members: [Entry] = [], headers: [Entry] = []) {
        self.members = members
        self.headers = headers
    }

    /// The maximum numbers of members, with those inside objects, and of headers.
    ///
    /// Both are low because each request sends all values.
    static let maximumMembers = 32
    static let maximumHeaders = 16
    /// The maximum number of bytes of a member's text.
    package static let maximumTextLength = 8 << 10

    /// The secrets among the members and headers.
    package var secrets: [Secret] {
        let inMembers = JSONConstants.leaves(of: members, in: JSONConstants.memberKey)
        let inHeaders = JSONConstants.leaves(of: headers, in: JSONConstants.headerKey)
        return JSONConstants.secrets(among: inMembers, areHeaders: false)
            + JSONConstants.secrets(among: inHeaders, areHeaders: true)
    }

    package static let memberKey = "members"
    package static let headerKey = "headers"

    /// A value that is not a JSON object, with its configuration key.
    private typealias Leaf = (key: String, entry: Entry)

    /// Returns the values that are not JSON objects, at any depth.
    private static func leaves(of entries: [Entry], in parent: String) -> [Leaf] {
        entries.flatMap { entry -> [Leaf] in
            let key = key(of: entry, in: parent)
            guard case .object(let inner) = entry.value else { return [(key, entry)] }
            return leaves(of: inner, in: key)
        }
    }

    private static func secrets(among leaves: [Leaf], areHeaders: Bool) -> [Secret] {
        leaves.compactMap { key, entry in
            guard case .secret(let source) = entry.value else { return nil }
            return Secret(key: key, source: source, isHeader: areHeaders)
        }
    }

    /// Returns the key of `entry` in TOML, quoted if the name requires it.
    ///
    /// So no two entries share a key.
    package static func key(of entry: Entry, in parent: String) -> String {
        let isBare = entry.name.utf8.allSatisfy {
            $0.isASCIILetter || $0.isASCIIDigit || "_-".utf8.contains($0)
        }
        return "\(parent)." + (isBare ? entry.name : JSONValue.string(entry.name).text)
    }

    /// The names of members whose values are not secret, at any depth.
    package var harmlessNames: [String] {
        JSONConstants.leaves(of: members, in: JSONConstants.memberKey).compactMap { _, entry in
            if case .secret = entry.value { nil } else { entry.name }
        }
    }
}

extension JSONConstants {
    /// Returns the errors that make the constants unusable in a request.
    ///
    /// - Parameter ownMembers: The names of members that requests already have.
    /// - Returns: Each error with its key, `members` or `headers`.
    package func problems(besides ownMembers: [String]) -> [ServerProfileError] {
        let names = allNames(of: members)
        var problems: [ServerProfileError] = []
        if names.count > JSONConstants.maximumMembers {
            problems.append(
                memberProblem("must not contain more than \(JSONConstants.maximumMembers) values")
            )
        }
        if let name = members.map(\.name).first(where: { name in
            ownMembers.contains { $0.bytewise == name.bytewise }
        }) {
            problems.append(memberProblem("must not contain \(name), which requests already have"))
        }
        if let name = names.first(where: { !(1...JSONObject.maximumNameLength).contains($0.utf8.count) }) {
            let shown = name.isEmpty ? "an empty name" : "a name of \(name.utf8.count) bytes"
            problems.append(memberProblem("must not contain \(shown)"))
        }
        let leaves = JSONConstants.leaves(of: members, in: JSONConstants.memberKey)
        if leaves.contains(where: { $0.entry.hasLongText }) {
            problems.append(
                memberProblem("must not contain a text of more than \(JSONConstants.maximumTextLength) bytes")
            )
        }
        return problems + headerProblems
    }

    private func memberProblem(_ message: String) -> ServerProfileError {
        ServerProfileError(JSONConstants.memberKey, message)
    }

    private func allNames(of entries: [Entry]) -> [String] {
        entries.flatMap { entry -> [String] in
            guard case .object(let inner) = entry.value else { return [entry.name] }
            return [entry.name] + allNames(of: inner)
        }
    }

    private var headerProblems: [ServerProfileError] {
        var problems = headers.compactMap(problem)
        if headers.count > JSONConstants.maximumHeaders {
            problems.append(
                headerProblem("must not contain more than \(JSONConstants.maximumHeaders) headers")
            )
        }
        let names = headers.map { $0.name.bytewise.lowercased }
        if Set(names).count < names.count {
            problems.append(headerProblem("must not contain a header twice (case is ignored)"))
        }
        return problems
    }

    private func headerProblem(_ message: String) -> ServerProfileError {
        ServerProfileError(JSONConstants.headerKey, message)
    }

    private func problem(_ header: Entry) -> ServerProfileError? {
        let name = header.name
        guard HeaderSyntax.isName(name) else {
            return headerProblem("\"\(name)\" is not a header name")
        }
        guard !ReservedHeader.isReserved(name) else {
            return headerProblem(
                "must not contain \(name), which the agent sets itself"
            )
        }
        guard case .text(let text) = header.value, !HeaderSyntax.isFit(text.utf8) else { return nil }
        return headerProblem("the value of \(name) must be \(HeaderSyntax.rule)")
    }
}

extension JSONConstants.Entry {
    /// Whether the text is longer than a request may carry.
    fileprivate var hasLongText: Bool {
        guard case .text(let text) = value else { return false }
        return text.utf8.count > JSONConstants.maximumTextLength
    }
}
