// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// The object in the body of a token response.
///
/// The body is parsed strictly first. If that fails, the server may still have invalidated the old refresh
/// token. An object or a form is therefore taken from the body if it shows both tokens beyond doubt: it must
/// be the only one, in a 200 response that is not shorter than announced, and no needed member may be
/// repeated with another value.
struct TokenResponseBody: Equatable, Sendable {
    let object: JSONObject
    /// The end of a sentence that begins "the response", or `nil` if the response is valid.
    let defect: String?
    /// Whether the object was found in a body that is not JSON.
    let isSalvaged: Bool

    /// The maximum number of bytes of a body that is searched, and of the text before the object.
    ///
    /// The text may be a warning, but not a page.
    private static let maximumBodyLength = 256 << 10
    private static let maximumPrefaceLength = 4 << 10
    /// The maximum number of parameters in a form.
    ///
    /// No token response has so many.
    private static let maximumParameters = 64
    /// The signs of a web page.
    ///
    /// Tokens shown on a page were not issued to this client.
    private static let pageMarks: [ByteText] = ["<html", "<!doctype", "<head", "<body", "<script"]
    /// The members that affect the meaning of the tokens, in addition to the tokens themselves.
    private static let decisive: Set<ByteText> = ["token_type", "error"]

    static let empty = TokenResponseBody(object: JSONObject(), defect: nil)

    /// Reads the body of `reply`, or returns `nil` if it has no object.
    init?(_ reply: ServerResponse, _ format: TokenResponseFormat) {
        if let object = reply.jsonObject {
            let hasMark = reply.body.starts(with: ByteOrderMark.bytes)
            self.init(object: object, defect: hasMark ? "begins with a byte order mark" : nil)
            return
        }
        guard reply.status == 200, TokenResponseBody.isSearched(reply) else { return nil }
        let found =
            TokenResponseBody.object(in: reply.body, format)
            ?? (format.envelope == nil ? TokenResponseBody.form(in: reply, format) : nil)
        guard let found else { return nil }
        ExchangeSecrets.current?.remember(.object(found.object))
        self = found
    }

    private init(object: JSONObject, defect: String?, isSalvaged: Bool = false) {
        self.object = object
        self.defect = defect
        self.isSalvaged = isSalvaged
    }

    /// Returns the error in a body that is not JSON, or `nil` if there is none.
    ///
    /// A server that writes its tokens in such a body writes its errors there too.
    static func refusal(in reply: ServerResponse) -> JSONObject? {
        guard isSearched(reply) else { return nil }
        let tokens = TokenResponseFormat().bothNames
        func isRefusal(_ object: JSONObject) -> Bool {
            ReportedOAuthError(object) != nil && tokens.allSatisfy { object[$0] == nil }
        }
        let object =
            object(in: reply.body, agreeingOn: ["error"], not: tokens, isRefusal)
            ?? parameters(in: reply.body).flatMap { isRefusal($0) ? $0 : nil }
        if let object { ExchangeSecrets.current?.remember(.object(object)) }
        return object
    }

    private static func isSearched(_ reply: ServerResponse) -> Bool {
        reply.body.count <= maximumBodyLength && reply.isAsLongAsAnnounced
    }

    /// Returns the only object with both tokens, which must be at the end of `body`.
    private static func object(in body: [UInt8], _ format: TokenResponseFormat) -> TokenResponseBody? {
        let needed = decisive.union(format.bothNames.map(\.bytewise))
        let object = object(in: body, agreeingOn: needed, not: format.bothNames) { object in
            format.paths.content(of: object).map(format.hasBothTokens) ?? false
        }
        guard let object, !hasError(object) else { return nil }
        let reason = strictError(in: body).map { " (\($0))" } ?? ""
        return TokenResponseBody(object: object, defect: "is not valid JSON\(reason)", isSalvaged: true)
    }

    /// Returns the only object that `isWanted` accepts, which must be at the end of `body`.
    ///
    /// - Parameters:
    ///   - body: A body that is not JSON.
    ///   - needed: The members that may not be repeated with another value.
    ///   - names: The names that the text before the object may not contain.
    ///   - isWanted: Returns whether an object is the one to find.
    /// - Returns: The object, or `nil` if there is none beyond doubt.
    private static func object(
        in body: [UInt8],
        agreeingOn needed: Set<ByteText>,
        not names: [String],
        _ isWanted: (JSONObject) -> Bool
    ) -> JSONObject? {
        var start = 0
        while let next = body[start...].firstIndex(of: UInt8(ascii: "{")), next <= maximumPrefaceLength {
            guard let found = DamagedJSONObject(in: body, at: next) else {
                start = next + 1
                continue
            }
            start = found.end
            guard isWanted(found.members) else { continue }
            guard found.contradictions.isDisjoint(with: needed),
                body[found.end...].allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }),
                isHarmless(body[..<next], names)
            else { return nil }
            return found.members
        }
        return nil
    }

    /// Returns whether `object` names an error.
    ///
    /// Some servers include an empty error in a successful response.
    private static func hasError(_ object: JSONObject) -> Bool {
        ![nil, .null, .bool(false), .string("")].contains(object["error"])
    }

    /// Returns whether `preface` contains no part of a web page and no name of a token.
    private static func isHarmless(_ preface: ArraySlice<UInt8>, _ names: [String]) -> Bool {
        let text = String(decoding: preface, as: UTF8.self).bytewise.lowercased
        return !(pageMarks + names.map { $0.bytewise.lowercased }).contains { text.contains($0) }
    }

    private static func strictError(in body: [UInt8]) -> JSONError? {
        do throws(JSONError) {
            _ = try JSONValue(parsing: body)
            return nil
        } catch {
            return error
        }
    }

    /// Reads a form, whose end must be known.
    ///
    /// RFC 6749 has no such responses, but some servers send them.
    private static func form(in reply: ServerResponse, _ format: TokenResponseFormat) -> TokenResponseBody? {
        // A `+` may be a blank, or a `+` that was not encoded. Access tokens contain no blanks, but refresh
        // tokens may.
        guard reply.announcesItsEnd, let object = parameters(in: reply.body),
            format.hasBothTokens(object), !hasError(object),
            object[format.renewalName]?.string?.utf8.contains(UInt8(ascii: " ")) == false
        else { return nil }
        return TokenResponseBody(object: object, defect: "is a form, not JSON", isSalvaged: true)
    }

    /// Returns the parameters of a form, or `nil` if `body` is not a form or repeats a parameter with another
    /// value.
    private static func parameters(in body: [UInt8]) -> JSONObject? {
        let text = body.reversed().drop { $0 == 0x0A || $0 == 0x0D }.reversed()
        // Allow only characters of an encoded form: a page or a sentence has others.
        guard text.allSatisfy({ FormEncoding.keeps($0) || "%+&=~:/,".utf8.contains($0) }),
            let pairs = FormEncoding.decoded(String(decoding: text, as: UTF8.self)),
            pairs.count <= maximumParameters
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

    /// Whether the header shows where the body ends, so that a part is not mistaken for the whole.
    fileprivate var announcesItsEnd: Bool {
        announcedLength == body.count
            || header("transfer-encoding")?.bytewise.lowercased.contains("chunked") == true
    }
}

extension GrantWarning {
    /// Returns the warning for tokens from a damaged response.
    static func defect(_ defect: String, isSalvaged: Bool) -> GrantWarning {
        GrantWarning(
            isSalvaged ? .responseSalvaged : .responseDamaged,
            "the server's latest token response \(defect); its tokens are used anyway"
        )
    }
}
