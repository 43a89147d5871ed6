// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser

/// A credential helper of git (gitcredentials(7)).
struct GitCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-credential",
        abstract: "Answer git as its credential helper.",
        discussion: """
            In git's configuration: [credential "https://git.example.com"] helper = !tokenctl git-credential --session \
            work. With a link git-credential-tokenagent in PATH and hosts in the session: helper = tokenagent.
            """
    )

    @Argument(help: ArgumentHelp("What git wants: get, store, erase or capability.", valueName: "operation"))
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
        // The agent keeps its tokens itself; and git asks that what is not known be ignored.
        default: _ = try? StandardInput.all()
        }
    }

    private func contract() throws(AgentError) -> GitCredential {
        GitCredential(try StandardInput.all(), session: helper.session?.name, user: username)
    }
}

/// What git asked, in its own lines (git-credential(1)).
struct GitCredential: HelperContract {
    private let fields: [(name: Substring, value: Substring)]
    private let session: String?
    private let user: String?

    init(_ input: [UInt8], session: String?, user: String?) {
        let text = String(decoding: input, as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).prefix {
            $0.isEmpty == false
        }
        fields = lines.compactMap { line in
            line.firstIndex(of: "=").map { (line[..<$0], line[line.index(after: $0)...]) }
        }
        self.session = session
        self.user = user
    }

    /// The password or token that the server refused.
    var refusedToken: String? { (self["credential"] ?? self["password"]).map(String.init) }

    /// Nothing for a server that would send the token through the network in the clear.
    func question() -> HelperQuestion? {
        guard let host = self["host"].flatMap({ HostName(String($0)) }) else { return nil }
        let isLocal = ["localhost", "127.0.0.1"].contains(host.host)
        guard self["protocol"] == "https" || self["protocol"] == "http" && isLocal else { return nil }
        return HelperQuestion(
            session: session,
            host: host,
            user: self["username"].map(String.init) ?? user
        )
    }

    /// Both ways of saying it: git before 2.46 knows only user name and password, and an answer with a Bearer token
    /// is dropped without a word unless git has announced that it understands it.
    func answer(_ credential: HelperCredential) -> String {
        var lines: [String] = []
        if takesBearer {
            lines = [
                "capability[]=authtype", "authtype=Bearer", "credential=\(credential.token.value)",
                "ephemeral=1",
            ]
        }
        lines += [
            "username=\(credential.user)", "password=\(credential.token.value)",
            "password_expiry_utc=\(credential.token.expiresAt)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Keeps git from asking other helpers or the person, who could only type a password that is not taken.
    func failure(_ error: AgentError) -> HelperReply {
        HelperReply(output: "quit=1\n", complaint: error)
    }

    private var takesBearer: Bool {
        let challenges = fields.filter { $0.name == "wwwauth[]" }.map { $0.value.lowercased() }
        let isWelcome = challenges.isEmpty || challenges.contains { $0.hasPrefix("bearer") }
        return isWelcome && fields.contains { $0.name == "capability[]" && $0.value == "authtype" }
    }

    private subscript(_ name: String) -> Substring? {
        fields.last { $0.name == name && $0.value.isEmpty == false }?.value
    }
}
