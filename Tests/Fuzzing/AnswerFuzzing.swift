// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import Text
import TokenCore

@testable import OAuthClient

/// Feeds the body of a token response to all its parsers.
func fuzzTokenAnswer(_ bytes: [UInt8]) {
    guard let value = ProcessorTime.limited("parsing", { try? JSONValue(parsing: bytes) }) else { return }
    precondition(
        (try? JSONValue(parsing: Array(value.serialized))) == value,
        "what is written reads otherwise"
    )
    guard let object = value.object else { return }
    let answers = [
        ProcessorTime.limited("a token answer") { try? TokenResponse(object) },
        ProcessorTime.limited("a back end's answer") {
            try? TokenResponse(object, TokenResponseFormat(.camelCase))
        },
        ProcessorTime.limited("a wrapped answer") {
            try? wrappedRules.responses.tokens(in: object)
        },
        ProcessorTime.limited("a saved answer") { savedTokens(bytes) },
        ProcessorTime.limited("a pool's answer") { try? TokenResponse(object, .cognito) },
    ]
    for answer in answers.compactMap(\.self) {
        let shown = [answer.accessToken, answer.idToken].compactMap(\.self)
        precondition(shown.allSatisfy { $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } })
        // A refresh token is only sent in forms and JSON, so it may contain spaces.
        precondition(answer.refreshToken?.utf8.allSatisfy { (0x20...0x7E).contains($0) } != false)
    }
    for status in [200, 400, 401, 403, 500] {
        let refused = TokenErrorResponse(status: status, error: ReportedOAuthError(object))
        let failure = ProcessorTime.limited("a refusal") {
            FailureClassification.classify(refused, from: "id.example.com")
        }
        precondition(failure.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a terminal might act")
    }
    let now = WallTime(secondsSince1970: 1_800_000_000)
    if let text = object["retry_after"]?.string {
        ProcessorTime.limited("Retry-After") { _ = RetryAfter.read(text, at: now) }
    }
    ProcessorTime.limited("metadata") {
        _ = try? ServerMetadata(object, issuer: "https://id.example.com", isInternal: false)
    }
    fuzzOtherKinds(ServerResponse(status: 400, body: bytes, reading: .object(object)), at: now)
}

/// The rules of a back end that wraps its answers.
private let wrappedRules: JSONBackEndDialect = {
    var rules = JSONBackEndDialect()
    rules.responses.envelope = JSONPath(["data"])
    rules.responses.errorCode = JSONPath(["error", "code"])
    return rules
}()

private func savedTokens(_ bytes: [UInt8]) -> TokenResponse? {
    let now = WallTime(secondsSince1970: 1_800_000_000)
    return bytes.withUnsafeBytes { try? ImportedLoginResponse($0, JSONBackEndDialect(), at: now) }?.tokens
}

/// Reads the body as an error of a back end of kind `json`, as an error of a user pool, and as a device response.
private func fuzzOtherKinds(_ reply: ServerResponse, at now: WallTime) {
    let failures = [
        ProcessorTime.limited("a back end's refusal") {
            JSONBackEndDialect().classify(reply, .refresh, from: "id.example.com", at: now)
        },
        ProcessorTime.limited("a wrapped refusal") {
            wrappedRules.classify(reply, .refresh, from: "id.example.com", at: now)
        },
        ProcessorTime.limited("a pool's refusal") {
            CognitoErrorResponse(reply, from: "id.example.com", at: now).failure
        },
    ]
    for failure in failures {
        precondition(failure.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a terminal might act")
    }
    guard let object = reply.jsonObject else { return }
    ProcessorTime.limited("a device code") { _ = DeviceGrant(object, requestedAt: .seconds(1_000)) }
    ProcessorTime.limited("a challenge") {
        let challenge = CognitoChallenge(object)
        _ = challenge?.preferredFactor
        _ = challenge?.codeQuestion
    }
}

/// Checks that an unsigned token is never accepted, for any key set.
func fuzzIDToken(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    guard let first = parts.first,
        let token = ProcessorTime.limited(
            "taking a token apart",
            { JWTParts(String(decoding: first, as: UTF8.self)) }
        )
    else { return }
    let rules = IDTokenRules(
        issuer: "https://id.example.com",
        clientID: "cli",
        nonce: nil,
        algorithms: Set(SignatureAlgorithm.allCases)
    )
    ProcessorTime.limited("the claims") {
        try? rules.checkBinding(token, accessToken: "access")
        try? rules.checkTimes(token, at: WallTime(secondsSince1970: 1_800_000_000))
        try? IDTokenRules.checkIdentity(token, as: token)
        try? IDTokenRules.checkContinuity(token, with: token)
    }
    guard parts.count == 2, let algorithm = try? rules.algorithm(of: token),
        let document = ProcessorTime.limited(
            "a key set",
            { try? JSONValue(parsing: Array(parts[1])).object }
        ),
        let keys = ProcessorTime.limited("the keys", { KeySet(document) })
    else { return }
    let candidates = ProcessorTime.limited("the choice of a key") {
        keys.candidates(identifier: token.header["kid"]?.string, algorithm: algorithm)
    }
    for key in candidates.prefix(2) {
        ProcessorTime.limited("a signature") { algorithm.verify(token, with: key.material) }
    }
}

/// Checks that each prefix of a request is either incomplete or rejected in the same way as the whole request.
func fuzzCallback(_ bytes: [UInt8]) {
    var place = LoopbackRedirect.standard(port: 49_152)
    place.takesForms = true
    let whole = ProcessorTime.limited("a redirect") { CallbackRequest(bytes, to: place) }
    guard case .callback(let query) = whole else { return }
    precondition(query.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a query that is no line of a request")
    let half = CallbackRequest(bytes.prefix(bytes.count / 2), to: place)
    precondition(half == .incomplete || half == whole, "half a request is another one")
    place.host = "localhost"
    if case .callback = CallbackRequest(bytes, to: place) { fatalError("any Host will do") }
    _ = FormEncoding.decoded(query)
}
