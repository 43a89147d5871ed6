// SPDX-License-Identifier: MIT

import Text
import TokenCore

extension TokenResponse {
    /// Reads the answer of a back end of kind `json`; members nobody asked for are ignored.
    init(_ object: JSONObject, _ fields: JSONRules.Fields) throws(Problem) {
        guard let accessToken = try TokenResponse.token(fields.accessToken, in: object) else {
            throw Problem(message: "the answer has no \(fields.accessToken)")
        }
        self.accessToken = accessToken
        tokenType = "Bearer"
        refreshToken = try fields.renewal.refreshToken(in: object)
        idToken = nil
        scope = nil
        expiresIn = LifetimeMember.read(object[fields.expiresIn])
        refreshExpiresIn = fields.renewal.lifetime(in: object)
    }
}

extension JSONRules.Fields {
    /// The members by which a session is renewed.
    var renewal: RenewalMembers { RenewalMembers(token: refreshToken, lifetimes: [refreshExpiresIn]) }
}

extension JSONRules {
    /// The tokens of an answer, which are looked for in its envelope and nowhere else.
    func tokens(in answer: JSONObject) throws(TokenResponse.Problem) -> TokenResponse {
        guard let envelope else { return try TokenResponse(answer, fields) }
        guard let content = places.content(of: answer) else {
            throw TokenResponse.Problem(message: "the answer has no object \(envelope)")
        }
        do throws(TokenResponse.Problem) {
            return try TokenResponse(content, fields)
        } catch {
            var problem = error
            problem.message += " in \(envelope)"
            throw problem
        }
    }

    /// The members of `answer` to keep, as text, from its envelope or from an object around that.
    func kept(of answer: JSONObject) -> [String: String] {
        let layers = places.layers(of: answer)
        var kept: [String: String] = [:]
        for name in keptMembers {
            switch layers.lazy.compactMap({ $0[name] }).first {
            case .string(let text): kept[name] = ServerText.cleaned(text, limit: 255)
            case .number(let literal): kept[name] = ServerText.cleaned(literal, limit: 255)
            case .bool(let value): kept[name] = value ? "true" : "false"
            case nil, .null, .array, .object: break
            }
        }
        return kept
    }
}
