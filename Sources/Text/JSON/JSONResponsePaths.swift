// SPDX-License-Identifier: MIT

/// Where servers other than authorization servers put things in their JSON answers.
package struct JSONResponsePaths: Hashable, Sendable {
    /// The object that holds an answer's members; `nil`: the answer itself.
    package var envelope: JSONPath?
    /// Where the code of an error stands, looked at before the usual places; from the answer's beginning.
    package var errorCode: JSONPath?
    /// The member that is `true` when only a new login helps; `nil`: there is none.
    package var loginDemand: String?

    /// The member that may hold an error as an object.
    private static let wrapper = "error"
    /// The usual members for a code, the most specific first: `error` may be no more than a word for the status.
    private static let codeMembers = ["code", "errorCode", "error_code", "error"]

    package init(envelope: JSONPath? = nil, errorCode: JSONPath? = nil, loginDemand: String? = nil) {
        self.envelope = envelope
        self.errorCode = errorCode
        self.loginDemand = loginDemand
    }

    /// The object with the members of `answer`; `nil`: there is none where the envelope should be.
    package func content(of answer: JSONObject) -> JSONObject? {
        guard let envelope else { return answer }
        return answer[envelope]?.object
    }

    /// The objects of `answer` from the envelope outwards: errors often stand beside an envelope, not in it.
    package func layers(of answer: JSONObject) -> [JSONObject] {
        envelope.map { answer.objects(onTheWayTo: $0) } ?? [answer]
    }

    /// The objects of `answer` that may say what is wrong, the most specific first.
    package func errors(in answer: JSONObject) -> [JSONObject] {
        layers(of: answer).flatMap { layer in
            [layer[JSONResponsePaths.wrapper]?.object, layer].compactMap(\.self)
        }
    }

    /// Every error code in `answer`, the most specific first; some servers number their errors.
    package func codes(in answer: JSONObject) -> [String] {
        let code = errorCode.flatMap { answer[$0] }
        let placed = code?.string ?? code?.literal
        let usual = errors(in: answer).flatMap { object in
            JSONResponsePaths.codeMembers.compactMap { object[$0]?.string }
        }
        return ([placed].compactMap(\.self) + usual).filter { !$0.utf8.isEmpty }
    }

    /// Whether `answer` holds an error, whatever its status; not every member `code` is one.
    package func hasError(in answer: JSONObject) -> Bool {
        layers(of: answer).contains { layer in
            let error = layer[JSONResponsePaths.wrapper]
            return error?.string?.utf8.isEmpty == false || error?.object != nil || error?.bool == true
        }
    }

    /// Whether `answer` says that only a new login helps.
    package func demandLogin(in answer: JSONObject) -> Bool {
        guard let loginDemand else { return false }
        return errors(in: answer).contains { $0[loginDemand]?.bool == true }
    }
}
