// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// Where the token responses of one kind of server have their tokens.
struct TokenMemberNames: Equatable, Sendable {
    var accessToken: String
    var refreshToken: String
    /// The object that holds both, or `nil` for the response itself.
    var envelope: JSONPath?

    /// RFC 6749 §5.1.
    static let standard = TokenMemberNames(accessToken: "access_token", refreshToken: "refresh_token")
    static let cognito = TokenMemberNames(
        accessToken: "AccessToken",
        refreshToken: "RefreshToken",
        envelope: JSONPath(["AuthenticationResult"])
    )
    static let identityCenter = TokenMemberNames(accessToken: "accessToken", refreshToken: "refreshToken")

    fileprivate var names: [String] { [accessToken, refreshToken] }

    /// Whether `object` itself has both tokens.
    func hasBothTokens(_ object: JSONObject) -> Bool {
        names.allSatisfy { object[$0]?.string?.utf8.isEmpty == false }
    }

    /// Whether the response `object` has both tokens in its envelope.
    fileprivate func areBoth(in object: JSONObject) -> Bool {
        guard let envelope else { return hasBothTokens(object) }
        return object[envelope]?.object.map(hasBothTokens) ?? false
    }
}

/// The object in the body of a token response.
///
/// The body is parsed strictly first. If that fails, the old refresh token may be spent all the same, so an object or
/// a form that shows both tokens beyond doubt is taken from it: there must be one alone, in a 200 response that is not
/// shorter than announced, and no needed member may be repeated with another value.
struct TokenEndpointResponse: Equatable, Sendable {
    let object: JSONObject
    /// Completes "the response", or `nil` if nothing is wrong with it.
    let defect: String?
    /// The object was found in a body that is not JSON.
    let isSalvaged: Bool

    /// Bytes of the longest body that is searched, and of text before the object: a warning, not a page.
    private static let longestBody = 256 << 10
    private static let longestPreface = 4 << 10
    /// Parameters of a form that is searched: no token response has so many.
    private static let mostParameters = 64
    /// Marks of a web page; whatever tokens that shows were not given to us.
    private static let pageMarks: [ByteText] = ["<html", "<!doctype", "<head", "<body", "<script"]
    /// Members that decide what the tokens are, beside the tokens themselves.
    private static let decisive: Set<ByteText> = ["token_type", "error"]

    static let empty = TokenEndpointResponse(object: JSONObject(), defect: nil)

    /// Reads the body of `reply`, or returns `nil` if it has no object.
    init?(_ reply: ServerResponse, _ members: TokenMemberNames) {
        if let object = reply.jsonObject {
            let hasMark = reply.body.starts(with: ByteOrderMark.bytes)
            self.init(object: object, defect: hasMark ? "begins with a byte order mark" : nil)
            return
        }
        guard reply.status == 200, TokenEndpointResponse.isSearched(reply) else { return nil }
        let found =
            TokenEndpointResponse.object(in: reply.body, members)
            ?? TokenEndpointResponse.form(in: reply, members)
        guard let found else { return nil }
        ExchangeSecrets.current?.remember(.object(found.object))
        self = found
    }

    private init(object: JSONObject, defect: String?, isSalvaged: Bool = false) {
        self.object = object
        self.defect = defect
        self.isSalvaged = isSalvaged
    }

    /// The error in a body that is not JSON, or `nil` if there is none: a server that writes its tokens so refuses so, too.
    static func refusal(in reply: ServerResponse) -> JSONObject? {
        guard isSearched(reply) else { return nil }
        func isRefusal(_ object: JSONObject) -> Bool {
            OAuthError(object) != nil && TokenMemberNames.standard.names.allSatisfy { object[$0] == nil }
        }
        let object =
            object(in: reply.body, agreeingOn: ["error"], not: TokenMemberNames.standard, isRefusal)
            ?? parameters(in: reply.body).flatMap { isRefusal($0) ? $0 : nil }
        if let object { ExchangeSecrets.current?.remember(.object(object)) }
        return object
    }

    private static func isSearched(_ reply: ServerResponse) -> Bool {
        reply.body.count <= longestBody && reply.isAsLongAsAnnounced
    }

    /// The only object in `body`, at its end, that has both tokens.
    private static func object(in body: [UInt8], _ members: TokenMemberNames) -> TokenEndpointResponse? {
        let needed = decisive.union(members.names.map(\.bytewise))
        guard let object = object(in: body, agreeingOn: needed, not: members, members.areBoth),
            !hasError(object)
        else { return nil }
        let reason = strictError(in: body).map { " (\($0))" } ?? ""
        return TokenEndpointResponse(object: object, defect: "is not valid JSON\(reason)", isSalvaged: true)
    }

    /// The only object in `body`, at its end, that `isWanted`.
    ///
    /// - Parameters:
    ///   - body: not JSON.
    ///   - needed: the members that may not be repeated with another value.
    ///   - members: what the text before it may not name.
    ///   - isWanted: whether it is what is searched for.
    /// - Returns: the object, or `nil` if there is none beyond doubt.
    private static func object(
        in body: [UInt8],
        agreeingOn needed: Set<ByteText>,
        not members: TokenMemberNames,
        _ isWanted: (JSONObject) -> Bool
    ) -> JSONObject? {
        var start = 0
        while let next = body[start...].firstIndex(of: UInt8(ascii: "{")), next <= longestPreface {
            guard let found = DamagedObject(in: body, at: next) else {
                start = next + 1
                continue
            }
            start = found.end
            guard isWanted(found.members) else { continue }
            guard found.contradictions.isDisjoint(with: needed),
                body[found.end...].allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }),
                isHarmless(body[..<next], members)
            else { return nil }
            return found.members
        }
        return nil
    }

    /// Returns `true` if `object` names an error; some servers write that there is none.
    private static func hasError(_ object: JSONObject) -> Bool {
        ![nil, .null, .bool(false), .string("")].contains(object["error"])
    }

    /// Whether nothing in `preface` is part of a web page, or names a token.
    private static func isHarmless(_ preface: ArraySlice<UInt8>, _ members: TokenMemberNames) -> Bool {
        let text = String(decoding: preface, as: UTF8.self).bytewise.lowercased
        let names = members.names.map { $0.bytewise.lowercased }
        return !(pageMarks + names).contains { text.contains($0) }
    }

    private static func strictError(in body: [UInt8]) -> JSONError? {
        do throws(JSONError) {
            _ = try JSONValue(parsing: body)
            return nil
        } catch {
            return error
        }
    }

    /// A form (RFC 6749 has none, but servers answer with one all the same), whose end must be known.
    private static func form(in reply: ServerResponse, _ members: TokenMemberNames) -> TokenEndpointResponse?
    {
        // A `+` may be a blank, or a `+` that was not encoded: no blank is in an access token, but in a refresh token.
        guard members.envelope == nil, reply.announcesItsEnd, let object = parameters(in: reply.body),
            members.hasBothTokens(object), !hasError(object),
            object[members.refreshToken]?.string?.utf8.contains(UInt8(ascii: " ")) == false
        else { return nil }
        return TokenEndpointResponse(object: object, defect: "is a form, not JSON", isSalvaged: true)
    }

    /// The parameters of a form; `nil` if `body` is none, or repeats one with another value.
    private static func parameters(in body: [UInt8]) -> JSONObject? {
        let text = body.reversed().drop { $0 == 0x0A || $0 == 0x0D }.reversed()
        // What a form encodes, and nothing else: a page or a sentence is none.
        guard text.allSatisfy({ FormEncoding.keeps($0) || "%+&=~:/,".utf8.contains($0) }),
            let pairs = FormEncoding.decoded(String(decoding: text, as: UTF8.self)),
            pairs.count <= mostParameters
        else { return nil }
        var object = JSONObject()
        for (name, value) in pairs {
            if let known = object[name] {
                guard known.string?.bytewise == value.bytewise else { return nil }
            }
            object[name] = .string(value)
        }
        return object
    }
}

extension ServerResponse {
    private var announcedLength: Int? { header("content-length").flatMap { Int($0) } }

    fileprivate var isAsLongAsAnnounced: Bool { announcedLength.map { $0 <= body.count } ?? true }

    /// Whether the header says where the body ends, so that a part of it is not taken for the whole.
    fileprivate var announcesItsEnd: Bool {
        announcedLength == body.count
            || header("transfer-encoding")?.bytewise.lowercased.contains("chunked") == true
    }
}

extension GrantWarning {
    /// The tokens of a response come from one that is not as it should be.
    static func defect(_ defect: String, isSalvaged: Bool) -> GrantWarning {
        GrantWarning(
            isSalvaged ? .responseSalvaged : .responseDamaged,
            "the server's latest token response \(defect); its tokens are used anyway"
        )
    }
}
