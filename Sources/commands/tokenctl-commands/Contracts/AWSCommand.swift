// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `aws`, a `credential_process` of the AWS SDKs that prints the credentials of a role.
struct AWSCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aws",
        abstract: "Print the credentials of an AWS role.",
        discussion: """
            In a profile of ~/.aws/config: credential_process = tokenctl aws NAME. The credentials are valid for \
            at least 15 more minutes, or half of their lifetime if that is shorter. A login to IAM Identity Center has \
            many roles: select one with --account and --role.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Option(help: ArgumentHelp("The account of the role, for a session of kind aws_sso.", valueName: "id"))
    var account: String?

    @Option(help: ArgumentHelp("The name of the role, for a session of kind aws_sso.", valueName: "name"))
    var role: String?

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard (account == nil) == (role == nil) else {
            throw ValidationError("--account and --role must be used together")
        }
    }

    func run() throws {
        let query = [("account", account), ("role", role)].compactMap { name, value in
            value.map { (name: name, value: $0) }
        }
        let request = AgentRequest(.get, "sessions", session.name, "aws", query: query)
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
