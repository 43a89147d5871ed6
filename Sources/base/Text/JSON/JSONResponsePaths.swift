// SPDX-License-Identifier: MIT

/// The paths of values in JSON responses of servers that are not OAuth authorization servers.
package struct JSONResponsePaths: Hashable, Sendable {
    /// The path of the object that contains the response's members, or `nil` if it is the response itself.
    package var envelope: JSONPath?
    /// The path of the error code from the root of the response, tried before the usual members.
    package var errorCode: JSONPath?
    /// The member that is `true` when a new login is required, or `nil` if the server has none.
    package var loginDemand: String?

    /// The member that may contain an error as an object.
    private static let wrapper = "error"
    /// The usual members for an error code, most specific first: `error` may be just a word for the HTTP
    /// status.
    private static let codeMembers = ["code", "errorCode", "error_code", "error"]

    package init(envelope: JSONPath? = nil, errorCode: JSONPath? = nil, loginDemand: String? = nil) {
        self.envelope = envelope
        self.errorCode = errorCode
        self.loginDemand = loginDemand
    }

    /// Returns the object with the members of `answer`, or `nil` if there is no object at the envelope's
    /// path.
    package func content(of answer: JSONObject) -> JSONObject? {
        guard let envelope else { return answer }
        return answer[envelope]?.object
    }

    /// Returns the object at the envelope's path and the objects around it, innermost first.
    ///
    /// Errors are often next to an envelope, not in it.
    package func layers(of answer: JSONObject) -> [JSONObject] {
        envelope.map { answer.objects(onTheWayTo: $0) } ?? [answer]
    }

    /// Returns the objects of `answer` that may describe an error, most specific first.
    package func errors(in answer: JSONObject) -> [JSONObject] {
        layers(of: answer).flatMap { layer in
            [layer[JSONResponsePaths.wrapper]?.object, layer].compactMap(\.self)
        }
    }

    /// Returns every error code in `answer`, most specific first.
    ///
    /// A number at ``errorCode`` counts too, because some servers number their errors.
    package func codes(in answer: JSONObject) -> [String] {
        let code = errorCode.flatMap { answer[$0] }
        let placed = code?.string ?? code?.literal
        let usual = errors(in: answer).flatMap { object in
            JSONResponsePaths.codeMembers.compactMap { object[$0]?.string }
        }
        return ([placed].compactMap(\.self) + usual).filter { !$0.utf8.isEmpty }
    }

    /// Returns whether `answer` contains an error, whatever its HTTP status.
    ///
    /// A member `code` alone is not taken for one.
    package func hasError(in answer: JSONObject) -> Bool {
        layers(of: answer).contains { layer in
            let error = layer[JSONResponsePaths.wrapper]
            return error?.string?.utf8.isEmpty == false || error?.object != nil || error?.bool == true
        }
    }

    /// Returns whether `answer` requires a new login.
    package func demandLogin(in answer: JSONObject) -> Bool {
        guard let loginDemand else { return false }
        return errors(in: answer).contains { $0[loginDemand]?.bool == true }
    }
}
