// SPDX-License-Identifier: MIT

import ServerSettings
import Text
import TokenCore

/// An assertion that is signed elsewhere and fetched for every request.
struct ExternalAssertion: Sendable {
    let source: AssertionSource
    /// The configuration key of the assertion, without `_file` and `_command`.
    let name: String
    /// The signing service of a GitHub Actions job, or `nil` if none started the agent.
    let workflow: GitHubActionsTokenService?

    /// The maximum run time of a command, which may send a request to a cluster or a cloud.
    private static let commandTimeLimit: Duration = .seconds(30)

    /// Fetches the current assertion.
    ///
    /// - Parameters:
    ///   - audience: The audience to request, if the source supports it.
    ///   - tools: Runs the command or requests the token.
    /// - Returns: The assertion, at most ``ReloadableFile/limit`` bytes of visible ASCII.
    /// - Throws: `misconfigured` with the remedy, `helper_failed` if the file or program does not work now,
    ///   or the reason it cannot be fetched. Nothing else was sent.
    func fetch(audience: String, _ tools: ServerDependencies) async throws(RefreshFailure) -> String {
        switch source {
        case .file(let path):
            let file = ReloadableFile(key: "\(name)_file", path: path, access: .readers)
            return try text(try await file.read(tools.commands), from: "\(name)_file \(path)")
        case .command(let command):
            return try text(try await run(command, tools.commands), from: "\(name)_command \(command[0])")
        case .gitHubActions:
            guard let workflow, workflow.isKept(in: tools.memory) else {
                throw RefreshFailure(
                    kind: .misconfigured,
                    message:
                        "\(name): the agent was not started by a GitHub Actions job, or was locked since",
                    remedy: .retry("in an agent that a job with the permission id-token: write starts")
                )
            }
            return try await workflow.token(for: audience, tools)
        }
    }

    private func run(
        _ command: [String],
        _ commands: any CommandRunning
    ) async throws(RefreshFailure) -> [UInt8] {
        do throws(CommandFailure) {
            return try await commands.output(of: command, within: ExternalAssertion.commandTimeLimit)
        } catch {
            throw RefreshFailure(error, of: "\(name)_command")
        }
    }

    /// Returns the only word in `output`.
    private func text(_ output: [UInt8], from origin: String) throws(RefreshFailure) -> String {
        var bytes = output
        defer { bytes.wipe() }
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        let word = bytes.drop(while: blanks.contains)
        let count = word.count - word.reversed().prefix(while: blanks.contains).count
        guard word.prefix(count).isVisibleWord else {
            let message = count == 0 ? "is empty" : "contains something other than one assertion"
            throw RefreshFailure(kind: .helperFailed, message: "\(origin): \(message)")
        }
        return String(decoding: word.prefix(count), as: UTF8.self)
    }
}
