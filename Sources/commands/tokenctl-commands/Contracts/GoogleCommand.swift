// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `google`, the executable from which Google's libraries get the token of an external account.
struct GoogleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "google",
        abstract: "Serve Google's libraries as the executable of an external account.",
        discussion: """
            In the credential file: "credential_source": {"executable": {"command": "/usr/bin/tokenctl google work"}}, \
            with GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 in the environment.
            """
    )

    @Argument(help: .sessionName)
    var name: SessionArgument

    @Flag(
        name: .customLong("access-token"),
        help: "Print the access token, which must be a JWT, instead of the ID token."
    )
    var givesAccessToken = false

    @OptionGroup var helper: HelperOptions

    func run() throws {
        // The libraries time out after 30 s and then report less than this command can.
        try helper.answer(
            GoogleContract(session: name.name, givesAccessToken: givesAccessToken),
            timeout: .seconds(25)
        )
    }
}

/// The contract with Google's libraries: a subject token or an error as JSON.
///
/// An error also has the exit status 0 and writes nothing to standard error, which the libraries would parse
/// as part of the response.
struct GoogleContract: HelperContract {
    var session: String
    var givesAccessToken: Bool

    func question() -> CredentialRequest? {
        CredentialRequest(session: session, wantsIDToken: !givesAccessToken)
    }

    func answer(_ credential: HelperCredential) -> String {
        let kind = givesAccessToken ? "jwt" : "id_token"
        var reply = JSONObject()
        reply["version"] = 1
        reply["success"] = true
        reply["token_type"] = .string("urn:ietf:params:oauth:token-type:\(kind)")
        reply["id_token"] = .string(credential.token.value)
        reply["expiration_time"] = credential.token.expiresAt.map { .integer($0) }
        return JSONValue.object(reply).text + "\n"
    }

    func failure(_ error: AgentError) -> HelperResponse {
        let reply: JSONValue = [
            "version": 1, "success": false, "code": .string(error.code.rawValue),
            "message": .string(FailureReport.line(for: error)),
        ]
        return HelperResponse(output: String(decoding: TerminalText.ascii(reply), as: UTF8.self) + "\n")
    }
}
