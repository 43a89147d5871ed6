// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The form of the token requests to one server.
///
/// The default is that of RFC 6749 §4.1.3: a form in the body of a POST.
package struct TokenRequestFormat: Hashable, Sendable {
    /// The place and encoding of the parameters, spelled as in the configuration.
    package enum Placement: String, CaseIterable, Sendable {
        /// A form in the body.
        case form
        /// An object of strings in the body.
        case json
        /// The query of a POST.
        case query
        /// The query of a GET.
        case get

        /// Whether the parameters are in the URL.
        package var isURL: Bool { self == .query || self == .get }
    }

    package var placement = Placement.form
    /// The server's names of parameters, by those of the specifications.
    package var names: [String: String] = [:]
    /// Further headers, by name.
    package var headers: [String: String] = [:]

    package init() {}

    /// The maximum number of headers.
    private static let maximumHeaders = 16

    /// The errors that are visible without a request.
    package var problems: [ServerProfileError] {
        let lowered = headers.keys.map { $0.bytewise.lowercased }
        var messages = headers.keys.sorted().compactMap(problem(ofHeader:))
        if Set(lowered).count < lowered.count { messages.append("must not name a header twice") }
        if headers.count > TokenRequestFormat.maximumHeaders {
            messages.append("must not have more than \(TokenRequestFormat.maximumHeaders) headers")
        }
        messages += TokenRequestFormat.problems(ofNames: names, besides: ServerDialect.ownParameters)
        return messages.map { ServerProfileError("token_request", $0) }
    }

    private func problem(ofHeader name: String) -> String? {
        guard HeaderSyntax.isName(name) else { return "\"\(name)\" is not a header name" }
        guard !ReservedHeader.isReserved(name) else {
            return "must not contain \(name), which the agent sets itself"
        }
        guard let value = headers[name], !HeaderSyntax.isFit(value.utf8) else { return nil }
        return "the value of \(name) must be \(HeaderSyntax.rule)"
    }

    /// Returns the errors in other names of parameters.
    ///
    /// - Parameters:
    ///   - names: the server's names, by those of the specifications.
    ///   - own: the parameters that requests may have.
    /// - Returns: a sentence for each.
    package static func problems(ofNames names: [String: String], besides own: Set<ByteText>) -> [String] {
        let unknown = names.keys.sorted().filter { !own.contains($0.bytewise) }
        let invalid = names.values.sorted().filter { $0.isEmpty || !$0.utf8.allSatisfy(\.isVisibleASCII) }
        let kept = own.subtracting(names.keys.map(\.bytewise))
        let new = Set(names.values.map(\.bytewise))
        let isDouble = new.count < names.count || !new.isDisjoint(with: kept)
        return unknown.map { "requests have no parameter \($0)" }
            + invalid.map { "\"\($0)\" is not a parameter name" }
            + (isDouble ? ["must not use a name twice"] : [])
    }
}
