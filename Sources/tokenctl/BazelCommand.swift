// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import StrictJSON

/// A credential helper as Bazel and others call it (EngFlow's credential-helper-spec).
struct BazelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bazel",
        abstract: "Answer bazel as its credential helper.",
        discussion: """
            With hosts in the session and a script of the line exec tokenctl bazel "$@": \
            --credential_helper=*.example.com=/path/to/script.
            """
    )

    @Argument(help: ArgumentHelp("What bazel wants: get.", valueName: "operation"))
    var operation: String

    @OptionGroup var helper: HelperOptions

    func run() throws {
        guard operation == "get" else {
            throw AgentError(.badRequest, "there is no operation \(TerminalText.escaped(operation))")
        }
        try helper.answer(BazelCredential(try StandardInput.all(), session: helper.session?.name))
    }
}

/// One `get`: `{"uri": …}` on standard input.
struct BazelCredential: HelperContract {
    private let uri: String?
    private let session: String?

    init(_ input: [UInt8], session: String?) {
        uri = (try? JSONValue(parsing: input))?.object?["uri"]?.string
        self.session = session
    }

    /// Nothing for an address that would send the token in the clear.
    func question() throws(AgentError) -> HelperQuestion? {
        guard let uri else { throw AgentError(.badRequest, "standard input is not {\"uri\": ...}") }
        let isSafe = ["https://", "grpcs://"].contains { uri.lowercased().hasPrefix($0) }
        guard isSafe, let host = HostName(url: uri) else { return nil }
        return HelperQuestion(session: session, host: host)
    }

    func answer(_ credential: HelperCredential) -> String {
        let reply: JSONValue = [
            "headers": ["Authorization": [.string("Bearer \(credential.token.value)")]],
            "expires": .string(DurationPhrase.rfc3339(credential.token.expiresAt)),
        ]
        return reply.text + "\n"
    }

    var nothing: HelperReply { HelperReply(output: "{}\n") }
}
