// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

extension TokenResponse {
    /// Reads the tokens in a response of a back end of kind `json`.
    ///
    /// Unknown members are ignored.
    init(_ object: JSONObject, _ fields: JSONRules.Fields) throws(Problem) {
        guard let accessToken = try TokenResponse.token(fields.accessToken, in: object) else {
            throw Problem(message: "the response has no \(fields.accessToken)")
        }
        self.accessToken = accessToken
        tokenType = "Bearer"
        refreshToken = try fields.renewal.refreshToken(in: object)
        idToken = nil
        scope = nil
        setLifetime(object[fields.expiresIn], in: fields.expiresInUnit)
        refreshExpiresIn = fields.renewal.lifetime(in: object)
    }
}

extension JSONRules.Fields {
    /// The names of the members with the refresh token and its lifetime.
    var renewal: RefreshTokenMemberNames {
        RefreshTokenMemberNames(token: refreshToken, lifetimes: [refreshExpiresIn], unit: expiresInUnit)
    }
}

extension JSONRules {
    func tokenNames(in purpose: JSONPurpose) -> TokenMemberNames {
        TokenMemberNames(
            accessToken: fields.accessToken,
            refreshToken: fields.refreshToken,
            envelope: places(in: purpose).envelope
        )
    }

    /// Returns the tokens in the envelope of a response.
    func tokens(
        in answer: JSONObject,
        _ purpose: JSONPurpose
    ) throws(TokenResponse.Problem) -> TokenResponse {
        let places = places(in: purpose)
        guard let envelope = places.envelope else { return try TokenResponse(answer, fields) }
        guard let content = places.content(of: answer) else {
            throw TokenResponse.Problem(message: "the response has no object \(envelope)")
        }
        do throws(TokenResponse.Problem) {
            return try TokenResponse(content, fields)
        } catch {
            var problem = error
            problem.message += " in \(envelope)"
            throw problem
        }
    }

    /// Returns the object in `answer` whose refresh token must be kept although the response is unusable, or
    /// `nil` if there is none.
    ///
    /// The object is the one in the envelope, or else the only one with both tokens: in that case the
    /// configured envelope is wrong.
    func leftover(in answer: JSONObject, _ purpose: JSONPurpose) -> JSONObject? {
        if let content = places(in: purpose).content(of: answer), content[fields.refreshToken] != nil {
            return content
        }
        let names = tokenNames(in: purpose)
        let found = answer.objects(upTo: JSONPath.longest).filter(names.hasBothTokens)
        return found.count == 1 ? found.first : nil
    }

    /// Returns the members of `answer` that the session keeps, as text, from the envelope or from an object
    /// around it.
    func kept(of answer: JSONObject, _ purpose: JSONPurpose) -> [String: String] {
        // The innermost layer comes first.
        places(in: purpose).layers(of: answer).reversed().reduce(into: [:]) { kept, layer in
            kept.merge(layer.shown(keptMembers)) { $1 }
        }
    }
}
