// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings
import Glibc
import SealedStore
import ServerSettings
import Text

/// An error that prevents the agent from starting: its lines for the user, and the exit status.
struct StartFailure: Error {
    var code: FailureCode
    /// The lines of the message, without the program's name.
    var lines: [String]

    init(_ code: FailureCode, _ line: String, remedy: Remedy? = nil) {
        self.code = code
        lines = [remedy.map { "\(line) \($0.parenthesized)" } ?? line]
    }

    init(_ problems: ConfigurationProblems) {
        code = .misconfigured
        lines = problems.lines
    }

    init(_ error: AgentError) {
        self.init(error.code, error.description)
    }

    init(_ error: UsageError) {
        self.init(.badRequest, error.message, remedy: .see("tokenagent --help"))
    }

    init(_ error: StoreError) {
        let code: FailureCode =
            switch error {
            case .heldByAnother: .temporarilyUnavailable
            case .unsafe, .networkFileSystem: .misconfigured
            default: .internal
            }
        self.init(code, error.description, remedy: error.remedy)
    }

    init(_ failure: ListenFailure) {
        let code: FailureCode =
            switch failure {
            case .pathTooLong, .unsafeDirectory: .misconfigured
            case .alreadyRunning: .temporarilyUnavailable
            default: .internal
            }
        self.init(code, "\(failure)", remedy: failure.remedy)
    }

    /// Creates the failure of a system call from `errno`.
    static func system(_ attempt: String) -> StartFailure {
        StartFailure(.internal, "cannot \(attempt): \(unsafe String(cString: strerror(errno)))")
    }
}

extension ListenFailure {
    /// The setting that moves the socket elsewhere, or the command that closes the agent's own directory.
    fileprivate var remedy: Remedy? {
        guard case .unsafeDirectory(let path, _) = self else { return nil }
        return path.bytewise.hasSuffix("/tokenagent")
            ? .run("chmod 700 \(ShellWord.quoted(path))")
            : SocketDirectory.remedy
    }
}
