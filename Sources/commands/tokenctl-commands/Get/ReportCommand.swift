// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc
import Text

/// The command `report`, which reports a server's rejection of a token and prints a token to try next.
struct ReportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report",
        abstract: "Report that a server rejected a token.",
        discussion: """
            Reads the rejected token from standard input, and prints a new token if the server may accept \
            one. The exit status is 4 if a new login is required.
            """
    )

    /// The maximum number of bytes of a body that are sent; the agent looks for an error code in JSON.
    private static let maximumBodyLength = 32_768

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Option(help: ArgumentHelp("The status of the server's response, such as 401.", valueName: "n"))
    var status: Int

    @Option(
        name: .customLong("www-authenticate"),
        help: ArgumentHelp("The header WWW-Authenticate of the response.", valueName: "text")
    )
    var challenge: String?

    @Option(
        name: .customLong("body-file"),
        help: ArgumentHelp("A file with the body of the response.", valueName: "file")
    )
    var bodyFile: String?

    @Option(help: ArgumentHelp("The server that rejected the token.", valueName: "host"))
    var host: String?

    @OptionGroup var variant: VariantOptions

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard (100...599).contains(status) else {
            throw ValidationError("--status requires an HTTP status from 100 to 599")
        }
        guard bodyFile?.isEmpty != true else { throw ValidationError("--body-file requires a path") }
        guard host.map({ HostAndPort($0) != nil }) ?? true else {
            throw ValidationError("--host requires HOST or HOST:PORT")
        }
    }

    func run() throws {
        let report = TokenRejectionReport(
            status: status,
            challenge: challenge ?? "",
            body: try bodyFile.map(ReportCommand.body) ?? [],
            place: host.flatMap { HostAndPort($0) }
        )
        let tokenRequest = TokenRequest(
            session: session.name,
            scopes: variant.scopes,
            audience: variant.audience
        )
        let answer: RejectionReportMessage
        do {
            answer = try report.answer(
                to: try StandardInput.secret("token"),
                from: agent.endpoint,
                about: tokenRequest
            )
        } catch {
            throw error.about(session.name)
        }
        if agent.wantsJSON {
            try StandardOutput.json(answer.json)
        } else if let fresh = answer.accessToken {
            try StandardOutput.line(fresh)
        }
        if answer.action == .stepUp {
            // With --json the response has been printed already.
            throw ExitCode(FailureReport.tell(.stepUp(answer, of: session.name)))
        }
    }

    /// Returns the first ``maximumBodyLength`` bytes of the file at `path`.
    private static func body(_ path: String) throws(AgentError) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw AgentError(.badRequest, "--body-file \(path): \(systemMessage(errno))")
        }
        defer { close(file) }
        var bytes: [UInt8] = []
        while bytes.count < maximumBodyLength {
            var chunk = [UInt8](repeating: 0, count: maximumBodyLength - bytes.count)
            let count = unsafe read(file, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw AgentError(.badRequest, "--body-file \(path): \(systemMessage(errno))")
            }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes
    }
}
