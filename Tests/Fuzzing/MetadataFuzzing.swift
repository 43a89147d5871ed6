// SPDX-License-Identifier: MIT

import SecretMemory
import ServerSettings
import Text
import TokenCore

@testable import AgentServer
@testable import OAuthClient

/// Feeds `bytes` to the parsers of metadata, challenges and client registrations.
func fuzzMetadata(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let text = Array(bytes.dropFirst())
    switch first % 4 {
    case 0: fuzzDocument(text) { fuzzResource($0) }
    case 1: fuzzChallenge(text)
    case 2: fuzzDocument(text) { fuzzRegistration($0) }
    default: fuzzDocument(text) { fuzzIssuer($0) }
    }
}

/// Calls `body` with the JSON object in `text`.
private func fuzzDocument(_ text: [UInt8], _ body: (JSONObject) -> Void) {
    let object = ProcessorTime.limited("parsing") { (try? JSONValue(parsing: text))?.object }
    if let object { body(object) }
}

/// The address of the tests' resource.
///
/// Every test fails if it is `nil`.
private let resource = try? EndpointURL("https://api.example.com/v1/mcp")

private func fuzzResource(_ object: JSONObject) {
    guard let resource else { fatalError("the resource's own address is none") }
    let read = ProcessorTime.limited("a resource's document") { () -> ResourceMetadata? in
        do throws(ResourceMetadata.Problem) {
            return try ResourceMetadata(object, of: resource)
        } catch {
            precondition(error.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a terminal might act")
            return nil
        }
    }
    guard let read else { return }
    if let address = read.resource {
        let named = try? EndpointURL(address)
        precondition(named?.origin == resource.origin, "a document of another server is believed")
    }
    precondition(!read.servers.isEmpty)
    let scopes = ProcessorTime.limited("its scopes") { read.scopes.flatMap { ScopeValidator.checked($0) } }
    check(scopes ?? [])
}

/// Checks the scopes, which become parts of an address and of a command.
private func check(_ scopes: [String]) {
    precondition(scopes.count <= 64 && scopes.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(\.isNQChar) })
}

private func fuzzChallenge(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    ProcessorTime.limited("a challenge") {
        let challenges = Challenges(text)
        for scheme in ["bearer", "dpop"] {
            if let address = challenges.value(of: "resource_metadata", scheme: scheme) {
                _ = try? EndpointURL(address)
            }
            check(challenges.value(of: "scope", scheme: scheme).flatMap { ScopeValidator.checked($0) } ?? [])
        }
    }
    for status in [401, 403] as [Int64] {
        let wish = ProcessorTime.limited("a wish") { StepUpChallenge(status: status, text) }
        for words in [wish?.scope, wish?.contextClasses].compactMap(\.self) {
            precondition(words.utf8.count <= 1_000 && words.utf8.allSatisfy { (0x20...0x7E).contains($0) })
            precondition(words.utf8.first != UInt8(ascii: "-"), "an option of the command")
        }
        precondition((wish?.maximumAge ?? 0) >= 0)
    }
}

private func fuzzIssuer(_ object: JSONObject) {
    ProcessorTime.limited("an issuer's document") {
        guard let metadata = try? ServerMetadata(object, issuer: "https://id.example.com", isInternal: false)
        else { return }
        precondition(metadata.issuer == "https://id.example.com", "another issuer is believed")
        _ = IssuerCapabilities(metadata)
    }
}

private let memory: SealedMemory? = try? SealedMemory()

private func fuzzRegistration(_ object: JSONObject) {
    guard let memory, let url = try? EndpointURL("https://id.example.com/register") else {
        fatalError("no memory for a secret")
    }
    let redirect = "http://127.0.0.1/callback"
    let answer = RegistrationResponse(
        asked: ClientRegistration.LookupKey(
            issuer: "https://id.example.com",
            redirectURI: redirect,
            authentication: "automatic"
        ),
        [redirect],
        "none",
        from: url
    )
    ProcessorTime.limited("a registration") {
        do throws(RefreshFailure) {
            let registered = try answer.read(object, memory)
            for secret in registered.secrets { memory.erase(secret) }
            precondition(registered.clientID.utf8.allSatisfy { (0x20...0x7E).contains($0) })
            let management = registered.managementURI.flatMap { try? EndpointURL($0) }
            precondition(
                registered.managementURI == nil || management?.origin == url.origin,
                "a token of the server's goes elsewhere"
            )
        } catch {
            precondition(error.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a terminal might act")
        }
    }
}
