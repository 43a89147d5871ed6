// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `git-credential`, a credential helper of git (gitcredentials(7)).
struct GitCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-credential",
        abstract: "Serve git as its credential helper.",
        discussion: """
            In git's configuration: [credential "https://git.example.com"] helper = !tokenctl git-credential --session \
            work. With a link git-credential-tokenagent in PATH and hosts in the session: helper = tokenagent.
            """
    )

    @Argument(help: ArgumentHelp("The operation: get, store, erase or capability.", valueName: "operation"))
    var operation: String

    @Option(help: ArgumentHelp("The user name for Basic authentication.", valueName: "user"))
    var username: String?

    @OptionGroup var helper: HelperOptions

    func run() throws {
        switch operation {
        case "get":
            try helper.answer(try contract())
        case "erase":
            let contract = try contract()
            guard let token = contract.refusedToken, let question = contract.question() else { return }
            helper.report(token, for: question)
        case "capability":
            try StandardOutput.write(Array("version 0\ncapability authtype\n".utf8))
        // `store` has no effect, because the agent stores its tokens itself. Git requires helpers to ignore
        // unknown operations.
        default: _ = try? StandardInput.all()
        }
    }

    private func contract() throws(AgentError) -> GitContract {
        GitContract(try StandardInput.all(), session: helper.session?.name, user: username)
    }
}

/// The contract with git: a request in lines of `name=value` (git-credential(1)).
struct GitContract: HelperContract {
    private let fields: [(name: String, value: String)]
    private let session: String?
    private let user: String?

    init(_ input: [UInt8], session: String?, user: String?) {
        let lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        fields = lines.prefix { !$0.isEmpty }.compactMap { line in
            line.firstIndex(of: UInt8(ascii: "=")).map { end in
                (
                    String(decoding: line[..<end], as: UTF8.self),
                    String(decoding: line[(end + 1)...], as: UTF8.self)
                )
            }
        }
        self.session = session
        self.user = user
    }

    /// The password or token that the server rejected.
    var refusedToken: String? { self["credential"] ?? self["password"] }

    func question() -> CredentialRequest? {
        guard let scheme = self["protocol"], let host = self["host"],
            let server = ServerAddress(scheme: scheme, host: host)
        else { return nil }
        return CredentialRequest(session: session, server: server, user: self["username"] ?? user)
    }

    /// Formats user name and password, which is all that git before 2.46 supports.
    ///
    /// A Bearer token comes first only if git has announced support for it. Otherwise git silently drops the
    /// response.
    func answer(_ credential: HelperCredential) -> String {
        var lines: [String] = []
        if takesBearer {
            lines = [
                "capability[]=authtype", "authtype=Bearer", "credential=\(credential.token.value)",
                "ephemeral=1",
            ]
        }
        lines += ["username=\(credential.user)", "password=\(credential.token.value)"]
        if let expiry = credential.token.expiresAt { lines.append("password_expiry_utc=\(expiry)") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns a response that stops git from asking other helpers or the user.
    ///
    /// The server would not accept a password of the user.
    func failure(_ error: AgentError) -> HelperResponse {
        HelperResponse(output: "quit=1\n", complaint: error)
    }

    private var takesBearer: Bool {
        let challenges = list("wwwauth[]")
        let isWelcome = challenges.isEmpty || challenges.contains { Challenges($0).offers("bearer") }
        return isWelcome && list("capability[]").contains { $0.bytewise == "authtype" }
    }

    /// Returns the values of a field that may be repeated; an empty one clears those before it.
    private func list(_ name: ByteText) -> [String] {
        Array(
            fields.filter { $0.name.bytewise == name }.map(\.value).split(
                separator: "",
                omittingEmptySubsequences: false
            ).last ?? []
        )
    }

    private subscript(_ name: ByteText) -> String? {
        fields.last { $0.name.bytewise == name && !$0.value.isEmpty }?.value
    }
}
