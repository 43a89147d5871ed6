// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// Prints the credentials of a role, as a `credential_process` of the AWS SDKs.
struct AWSCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aws",
        abstract: "Print the credentials of an AWS role.",
        discussion: """
            In a profile of ~/.aws/config: credential_process = tokenctl aws NAME. The credentials have at least 15 \
            minutes left, or half of their life if that is less.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @OptionGroup var agent: AgentOptions

    func run() throws {
        let request = AgentRequest(.get, "sessions", session.name, "aws")
        var body: [UInt8]
        do {
            var connection = try agent.endpoint.connect()
            body = try connection.exchange(request, timeout: .seconds(3605)).body
        } catch {
            throw error.about(session.name)
        }
        defer { body.wipe() }
        try StandardOutput.write(body)
    }
}
