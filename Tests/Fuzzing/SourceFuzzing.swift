// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

@testable import OAuthClient

/// Feeds `bytes` to the parsers of token sources: responses of AWS and GitHub, output of programs, and keys.
func fuzzSources(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let text = Array(bytes.dropFirst())
    switch first % 4 {
    case 0: fuzzRoleAnswer(text)
    case 1: fuzzGitHubAnswer(text)
    case 2: fuzzOutput(text)
    default: fuzzKey(text)
    }
}

private let now = WallTime(secondsSince1970: 1_800_000_000)
private let endpoint = try? EndpointURL("https://api.example.com/")

/// Checks that the failure's message contains no control characters for the terminal.
private func check(_ failure: RefreshFailure) {
    precondition(failure.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a terminal might act")
    precondition((failure.retryAfter ?? .zero) >= .zero)
}

private func fuzzRoleAnswer(_ body: [UInt8]) {
    guard let endpoint else { fatalError("the service's own address is none") }
    let credentials = ProcessorTime.limited("credentials") {
        try? STSResponse.credentials(in: body, of: endpoint)
    }
    if let credentials {
        let members = (try? JSONValue(parsing: [0x7B] + credentials.members + [0x7D]))?.object
        precondition(members?.members.count == 4, "credentials that no library reads")
    }
    for status in [400, 403, 500] {
        let reply = ServerResponse(status: status, body: body)
        check(ProcessorTime.limited("a refusal of AWS") { STSResponse.failure(reply, of: endpoint, now) })
    }
}

private func fuzzGitHubAnswer(_ body: [UInt8]) {
    guard let endpoint else { fatalError("the service's own address is none") }
    let reading = ProcessorTime.limited("parsing") { ServerResponse.ParsedBody(body) }
    for status in [200, 201, 403, 404, 422, 500] {
        let answer = GitHubResponse(
            ServerResponse(status: status, body: body, reading: reading),
            from: endpoint,
            at: now
        )
        ProcessorTime.limited("a token of GitHub") {
            guard let (token, life) = try? answer.token() else { return }
            precondition(token.utf8.isVisibleWord && life >= .zero)
        }
        ProcessorTime.limited("an installation") {
            guard let number = try? answer.installation() else { return }
            precondition(number > 0)
        }
        check(ProcessorTime.limited("a refusal of GitHub") { answer.failure })
    }
}

private func fuzzOutput(_ output: [UInt8]) {
    ProcessorTime.limited("what a program printed") {
        do throws(PrintedToken.OutputError) {
            let printed = try PrintedToken(output)
            precondition(
                !printed.token.isEmpty && printed.token.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            )
            let life = try printed.lifetime(at: now, assumed: .seconds(300))
            precondition(life > .zero)
        } catch {
            precondition(error.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a terminal might act")
        }
    }
}

/// Parses a key of the user.
///
/// The library's time for unusual keys is not limited, because the key comes from the user.
private func fuzzKey(_ bytes: [UInt8]) {
    let text = String(decoding: bytes.prefix(ReloadableFile.limit), as: UTF8.self)
    ProcessorTime.limited("the blocks of a key") { _ = PEMBlock.all(in: text) }
    do throws(SigningKey.Problem) {
        let algorithm = try SigningKey(text).algorithm(among: nil)
        precondition(SignatureAlgorithm.allCases.contains(algorithm))
    } catch {
        precondition(error.message.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a terminal might act")
    }
}
