// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A way to have an agent.
enum StartMode: String, CaseIterable, Sendable {
    case foreground
    case background
    case aroundCommand
    case passedSocket

    /// Starts the agent of `scene`; answers the program that was run and the process of the agent.
    ///
    /// With `prelude` before it in the same shell, and these variables besides the scene's.
    func start(
        _ scene: Scene,
        prelude: String = ":",
        extraEnvironment: [String: String] = [:]
    ) async throws -> (program: Program, agent: Int32) {
        let environment = scene.agent.environment.merging(extraEnvironment) { $1 }
        let script = "cd \"$HOME\"; \(prelude); exec \(command(scene))"
        let program = try Program(["/bin/sh", "-c", script], environment: environment, hasTerminal: false)
        let answers = try await Polling.until {
            try #require(self == .background || program.exitStatus == nil, "\(program.standardError)")
            return (try? await scene.agent.socket.request("GET", "/v1", within: .seconds(5)))?.status == 200
        }
        try #require(answers, "\(program.standardError)")
        switch self {
        case .foreground, .passedSocket: return (program, program.pid)
        case .background, .aroundCommand:
            return (program, try #require(SocketOwner.pid(scene.agent.socketPath)))
        }
    }

    private func command(_ scene: Scene) -> String {
        switch self {
        case .foreground: return "tokenagent --foreground"
        case .background: return "tokenagent -s"
        case .aroundCommand: return "tokenagent tail -f /dev/null"
        case .passedSocket:
            let script = """
                import os, socket, sys
                os.makedirs(os.path.dirname(sys.argv[1]), mode=0o700, exist_ok=True)
                s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o600); s.listen()
                os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
                os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
                os.execvp("tokenagent", ["tokenagent", "--foreground"])
                """
            return "python3 -c '\(script)' '\(scene.agent.socketPath)'"
        }
    }
}
