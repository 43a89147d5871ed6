// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `terraform`, a credentials helper of Terraform and OpenTofu.
struct TerraformCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "terraform",
        abstract: "Answer terraform as its credentials helper.",
        discussion: """
            With a link terraform-credentials-tokenagent in ~/.terraform.d/plugins and hosts in the session, in \
            ~/.terraformrc: credentials_helper "tokenagent" { args = [] }.
            """
    )

    @Argument(help: ArgumentHelp("What terraform wants: get, store or forget.", valueName: "operation"))
    var operation: String

    @Argument(help: ArgumentHelp("The server.", valueName: "host"))
    var host: String

    @OptionGroup var helper: HelperOptions

    func run() throws {
        guard operation == "get" else {
            throw AgentError(
                .badRequest,
                "terraform cannot \(TerminalText.escaped(operation)) tokens of the agent",
                remedy: "use tokenctl login and tokenctl logout"
            )
        }
        try helper.answer(TerraformCredential(host: host, session: helper.session?.name))
    }
}

/// The contract with Terraform: a `get`, whose response without a credential is an empty object.
struct TerraformCredential: HelperContract {
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
