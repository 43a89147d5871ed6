// SPDX-License-Identifier: MIT

import TOML
import Text

/// The keys for the form of token responses, which are the same for the kinds `oidc`, `oauth2` and `json`.
extension TableReader {
    /// Reads the form of token responses.
    ///
    /// - Parameters:
    ///   - usual: the form without any key.
    ///   - further: reads the keys of `fields` that are not about responses.
    /// - Returns: the form, whose errors are reported with those of the server.
    package mutating func tokenResponseFormat(
        _ usual: TokenResponseFormat,
        _ further: (inout TableReader) -> Void = { _ in }
    ) -> TokenResponseFormat {
        var format = usual
        if var inner = table("fields") {
            readNames(from: &inner, into: &format)
            further(&inner)
            inner.refuseUnknownKeys()
        }
        format.envelope = jsonPath("envelope", such: "data")
        format.loginEnvelope = jsonPath("login_envelope", such: "meta")
        format.errorCode = jsonPath("error_code", such: "error.code")
        format.success = successMark()
        if let kept = strings("keep") { format.keptMembers = kept }
        if let unit = word("expires_in_unit", LifetimeUnit.self) { format.lifetimeUnit = unit }
        readLifetime(into: &format)
        return format
    }

    /// The meaning of a lifetime of 0.
    private enum ZeroLifetime: String, CaseIterable {
        case ignored
        case never
    }

    private mutating func readLifetime(into format: inout TokenResponseFormat) {
        guard var inner = table("lifetime") else { return }
        format.zeroMeansNever = inner.word("zero", ZeroLifetime.self) == .never
        let day = Duration.seconds(86_400)
        format.assumedLifetime = inner.duration("assumed", in: .seconds(1)...day * 3_650, "1s to 3650d")
        inner.refuseUnknownKeys()
    }

    private func readNames(from inner: inout TableReader, into format: inout TokenResponseFormat) {
        if let name = inner.string("access_token") { format.names.accessToken = name }
        if let name = inner.string("refresh_token") { format.names.refreshToken = name }
        if let name = inner.string("expires_in") {
            format.names.expiresIn = name
            // The name states the unit.
            if name.bytewise.hasSuffix("_ms") { format.lifetimeUnit = .milliseconds }
        }
        if let name = inner.string("refresh_expires_in") { format.names.refreshExpiresIn = [name] }
        if format.loginDemand != nil, let name = inner.string("requires_reauth") {
            format.loginDemand = name
        }
        guard format.names.scope != nil else { return }
        if let name = inner.string("id_token") { format.names.idToken = name }
        if let name = inner.string("token_type") { format.names.tokenType = name }
        if let name = inner.string("scope") { format.names.scope = name }
        if let name = inner.string("expires_at") { format.names.expiry = [name] }
    }

    /// Reads `success`: the member that has one value unless the server refuses.
    private mutating func successMark() -> TokenResponseFormat.SuccessMark? {
        guard var inner = table("success") else { return nil }
        let member = inner.jsonPath("member", such: "ok")
        let value = inner.value("value")?.json
        inner.refuseUnknownKeys()
        guard let member else {
            if !inner.has("member") { inner.report("member", "required: the member that tells a success") }
            return nil
        }
        guard let value, value.string != nil || value.literal != nil || value.bool != nil else {
            inner.report("value", "required: a string, number or Boolean")
            return nil
        }
        return TokenResponseFormat.SuccessMark(member, value.text)
    }

    /// Reads a path in a JSON text: names joined by dots, or an array of names if one contains a dot.
    private mutating func jsonPath(_ key: String, such example: String) -> JSONPath? {
        guard let value = value(key) else { return nil }
        let names = value.json.array?.compactMap(\.string)
        let isComplete = names?.count == value.json.array?.count
        let path =
            value.text.flatMap { JSONPath(dotted: $0) } ?? names.flatMap { isComplete ? JSONPath($0) : nil }
        if path == nil {
            report(
                key,
                "must be at most \(JSONPath.longest) names joined by dots, such as \"\(example)\", "
                    + "or an array of names"
            )
        }
        return path
    }
}
