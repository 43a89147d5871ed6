// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// The command `goauth`, for the variable GOAUTH of Go (go help goauth).
struct GoAuthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "goauth",
        abstract: "Serve go as the command in GOAUTH.",
        discussion: "With hosts in the session: go env -w GOAUTH='tokenctl goauth'."
    )

    @Argument(help: ArgumentHelp("A URL that the server rejected; all servers if absent.", valueName: "url"))
    var url: String?

    @OptionGroup var helper: HelperOptions

    func run() throws {
        if let url {
            var answer = CurlResponseParser()
            answer.append(try StandardInput.all())
            return try helper.answer(
                GoContract(url: url, session: helper.session?.name, refusal: answer)
            )
        }
        // go calls this before it knows which servers it needs. An ended session is reported when go requests
        // a credential for its server.
        for entry in try helper.sessions().entries {
            let contract = GoContract(url: "https://" + entry.host, session: entry.session, isSilent: true)
            try helper.answer(contract, timeout: .zero)
        }
    }
}

/// The contract with Go: a response of URLs, an empty line, headers and an empty line.
struct GoContract: HelperContract {
    var url: String
    var session: String?
    /// The response of the server, if go passes it on.
    var refusal: CurlResponseParser?
    var isSilent = false

    private var server: ServerAddress? { ServerAddress(url: url) }

    var refusalSign: RejectionSign {
        .answer(refusal, to: "go \(server?.origin ?? "")", by: server?.place)
    }

    /// Returns the request, or `nil` for schemes other than https, because go sends credentials only by
    /// https.
    func question() -> CredentialRequest? {
        guard let server, server.scheme == "https" else { return nil }
        return CredentialRequest(session: session, server: server)
    }

    func answer(_ credential: HelperCredential) -> String {
        "\(server?.origin ?? "")\n\nAuthorization: Bearer \(credential.token.value)\n\n"
    }

    func failure(_ error: AgentError) -> HelperResponse {
        isSilent ? HelperResponse() : HelperResponse(complaint: error, status: error.code.exitStatus)
    }
}
