// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// A program that prints a token, such as `az`, `gcloud` or a password manager.
struct TokenCommand {
    private let words: [String]
    /// The key of the configuration that names it.
    private let key: String
    /// What a person does when the program wants a login.
    private let loginRemedy: String?

    private static let timeLimit = Duration.seconds(30)
    /// The exit status by which a program says that a person has to log in, as ours does.
    private static let loginStatus: Int32 = 4

    /// A program that is run for each token.
    ///
    /// - Parameters:
    ///   - words: argv.
    ///   - key: the key of the configuration that names it.
    ///   - loginRemedy: what a person does when the program wants a login.
    init(_ words: [String], key: String, loginRemedy: String? = nil) {
        self.words = words
        self.key = key
        self.loginRemedy = loginRemedy
    }

    /// Runs it to its end; what it prints is in no failure.
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
                message: "the program \(program) wants a person to log in"
                    + (result.complaint.map { ": \($0)" } ?? ""),
                remedy: loginRemedy ?? "run \(program) by hand"
            )
        }
        guard result.status == 0 else { throw RefreshFailure(CommandFailure(result, of: words), of: key) }
        do throws(PrintedToken.Problem) {
            return try PrintedToken(output)
        } catch {
            throw RefreshFailure(kind: .helperFailed, message: "\(key): \(program) \(error.message)")
        }
    }
}
