// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `bazel`, a credential helper as Bazel and others call it (EngFlow's credential-helper-spec).
struct BazelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bazel",
        abstract: "Serve bazel as its credential helper.",
        discussion: """
            Set hosts in the session, and give bazel the path of bazel-credential-tokenagent, which is a link \
            to tokenctl: --credential_helper=*.example.com=/path/to/bazel-credential-tokenagent
            """
    )

    @Argument(help: ArgumentHelp("The operation: get.", valueName: "operation"))
    var operation: String

    @OptionGroup var helper: HelperOptions

    func run() throws {
        guard operation == "get" else {
            throw AgentError(.badRequest, "unknown operation \"\(TerminalText.escaped(operation))\"")
        }
        try helper.answer(BazelContract(try StandardInput.all(), session: helper.session?.name))
    }
}

/// The contract with Bazel: a `get` with `{"uri": …}` on standard input.
struct BazelContract: HelperContract {
    private let uri: String?
    private let session: String?

    init(_ input: [UInt8], session: String?) {
        uri = (try? JSONValue(parsing: input))?.object?["uri"]?.string
        self.session = session
    }

    func question() throws(AgentError) -> CredentialRequest? {
        guard let uri else {
            throw AgentError(.badRequest, "standard input is not a JSON object with the member uri")
        }
        return ServerAddress(url: uri).map { CredentialRequest(session: session, server: $0) }
    }

    func answer(_ credential: HelperCredential) -> String {
        var reply = JSONObject()
        reply["headers"] = ["Authorization": [.string("Bearer \(credential.token.value)")]]
        reply["expires"] = credential.token.expiresAt.map { .string(DurationPhrase.rfc3339($0)) }
        return JSONValue.object(reply).text + "\n"
    }

    var nothing: HelperResponse { HelperResponse(output: "{}\n") }
}
