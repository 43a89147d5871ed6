// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A program that prints a token, such as `az`, `gcloud` or a password manager.
struct TokenCommand {
    private let words: [String]
    /// The configuration key that names the program.
    private let key: String
    /// The remedy if the program requires a login.
    private let loginRemedy: Remedy?

    private static let timeLimit = Duration.seconds(30)
    /// The exit status by which a program reports that the user must log in.
    ///
    /// The agent's own programs use it too.
    private static let loginStatus: Int32 = 4

    /// Creates a command that is run for each token.
    ///
    /// - Parameters:
    ///   - words: The argument vector.
    ///   - key: The configuration key that names the program.
    ///   - loginRemedy: The remedy if the program requires a login.
    init(_ words: [String], key: String, loginRemedy: Remedy? = nil) {
        self.words = words
        self.key = key
        self.loginRemedy = loginRemedy
    }

    /// Runs the program to its end.
    ///
    /// No failure contains its output.
    func run(_ tools: ServerDependencies) async throws(RefreshFailure) -> PrintedToken {
        let result: CommandResult
        do throws(CommandFailure) {
            result = try await tools.commands.run(words, environment: [:], timeLimit: Self.timeLimit)
        } catch {
            throw RefreshFailure(error, of: key)
        }
        var output = result.standardOutput
        defer { output.wipe() }
        let program = ServerText.cleaned(words.first ?? "")
        guard result.status != Self.loginStatus else {
            throw RefreshFailure(
                kind: .sourceEnded,
                message: "the program \(program) requires a login"
                    + (result.complaint.map { ": \($0)" } ?? ""),
                remedy: loginRemedy ?? Remedy.retry("after a login with \(program)")
            )
        }
        guard result.status == 0 else { throw RefreshFailure(CommandFailure(result, of: words), of: key) }
        do throws(PrintedToken.OutputError) {
            return try PrintedToken(output)
        } catch {
            throw RefreshFailure(kind: .helperFailed, message: "\(key): \(program) \(error.message)")
        }
    }
}
