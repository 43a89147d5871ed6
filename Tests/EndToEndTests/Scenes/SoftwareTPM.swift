// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A TPM 2.0 that is a program, on two free ports of 127.0.0.1.
final class SoftwareTPM: Sendable {
    static let isAvailable = Program.succeeds(
        "command -v swtpm && command -v tpm2_nvincrement && command -v od"
    )
    /// The script that is installed with the documentation.
    static let counterProgram = "\(BuiltPrograms.checkout)/packaging/examples/tpm-rollback-counter"
    /// A place of the owner's range.
    static let index = "0x1500016"

    /// No try to start one had success.
    struct NoAnswer: Error {
        var complaints: String
    }

    private let state: TemporaryDirectory
    private let program: Program
    /// How tpm2-tools and systemd-creds reach it.
    let address: String

    private init(_ state: TemporaryDirectory, _ program: Program, port: Int) {
        self.state = state
        self.program = program
        address = "swtpm:host=127.0.0.1,port=\(port)"
    }

    /// Starts one and waits until it answers; another program may take a port at any time, so some tries are needed.
    static func start() async throws -> SoftwareTPM {
        var complaints = ""
        for _ in 0..<10 {
            let port = Int.random(in: 10_000...15_000) * 2
            let state = try TemporaryDirectory()
            let command = [
                "swtpm", "socket", "--tpm2", "--tpmstate", "dir=\(state.path)",
                "--server", "type=tcp,bindaddr=127.0.0.1,port=\(port)",
                "--ctrl", "type=tcp,bindaddr=127.0.0.1,port=\(port + 1)",
                "--flags", "not-need-init,startup-clear",
            ]
            let program = try Program(command, environment: ["PATH": TestEnvironment.searchPath])
            let tpm = SoftwareTPM(state, program, port: port)
            let answers = try await Polling.until {
                if program.exitStatus != nil { return true }
                return try await tpm.run(["tpm2_getrandom", "--hex", "4"]).status == 0
            }
            if answers, program.exitStatus == nil { return tpm }
            complaints += program.standardError
        }
        throw NoAnswer(complaints: complaints)
    }

    /// Runs a tool to its end.
    func run(_ command: [String]) async throws -> ProgramResult {
        let environment = [
            "PATH": TestEnvironment.searchPath, "HOME": state.path, "TPM2TOOLS_TCTI": address,
        ]
        return try await Program.run(command, environment: environment)
    }

    /// Has the counter do something; the value it prints then.
    @discardableResult
    func counter(_ word: String) async throws -> Int? {
        let result = try await run(counterCommand + [word])
        try #require(result.status == 0, "\(result.standardError)")
        return Int(result.line)
    }

    /// What the configuration names.
    var counterCommand: [String] { [Self.counterProgram, "-T", address, Self.index] }
}
