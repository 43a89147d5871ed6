// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `terraform`, a credentials helper of Terraform and OpenTofu.
struct TerraformCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "terraform",
        abstract: "Serve terraform as its credentials helper.",
        discussion: """
            With a link terraform-credentials-tokenagent in ~/.terraform.d/plugins and hosts in the session, in \
            ~/.terraformrc: credentials_helper "tokenagent" { args = [] }.
            """
    )

    @Argument(help: ArgumentHelp("The operation: get, store or forget.", valueName: "operation"))
    var operation: String

    @Argument(help: ArgumentHelp("The host name of the server.", valueName: "host"))
    var host: String

    @OptionGroup var helper: HelperOptions

    func run() throws {
        switch operation {
        case "get":
            try helper.answer(TerraformContract(host: host, session: helper.session?.name))
        case "store":
            throw AgentError(
                .badRequest,
                "cannot store a token: tokens come from the agent",
                remedy: .run("tokenctl login NAME")
            )
        case "forget":
            throw AgentError(
                .badRequest,
                "cannot forget a token: tokens come from the agent",
                remedy: .run("tokenctl logout NAME")
            )
        default:
            throw AgentError(.badRequest, "unknown operation \"\(TerminalText.escaped(operation))\"")
        }
    }
}

/// The contract with Terraform: a `get`, whose response without a credential is an empty object.
struct TerraformContract: HelperContract {
    var host: String
    var session: String?

    func question() -> CredentialRequest? {
        ServerAddress(scheme: "https", host: host).map { CredentialRequest(session: session, server: $0) }
    }

    func answer(_ credential: HelperCredential) -> String {
        let reply: JSONValue = ["token": .string(credential.token.value)]
        return reply.text + "\n"
    }

    var nothing: HelperResponse { HelperResponse(output: "{}\n") }
}
