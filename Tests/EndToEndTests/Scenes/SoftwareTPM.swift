// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A TPM 2.0 in software, on two free ports of 127.0.0.1.
final class SoftwareTPM: Sendable {
    static let isAvailable = Program.succeeds(
        "command -v swtpm && command -v tpm2_nvincrement && command -v od"
    )
    /// The script that is installed with the documentation.
    static let counterProgram = "\(BuiltPrograms.checkout)/packaging/examples/tpm-rollback-counter"
    /// An NV index in the owner's range.
    static let index = "0x1500016"

    /// An error: no TPM could be started.
    struct NoAnswer: Error {
        var complaints: String
    }

    private let state: TemporaryDirectory
    private let program: Program
    /// The address of the TPM for tpm2-tools and systemd-creds.
    let address: String

    private init(_ state: TemporaryDirectory, _ program: Program, port: Int) {
        self.state = state
        self.program = program
        address = "swtpm:host=127.0.0.1,port=\(port)"
    }

    /// Starts a TPM and waits until it responds.
    ///
    /// Retries, because another program may take a port at any time.
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

    /// Runs the counter command with the argument `word`, and returns the value it prints.
    @discardableResult
    func counter(_ word: String) async throws -> Int? {
        let result = try await run(counterCommand + [word])
        try #require(result.status == 0, "\(result.standardError)")
        return Int(result.line)
    }

    /// The value of `rollback_counter` in the configuration.
    var counterCommand: [String] { [Self.counterProgram, "-T", address, Self.index] }
}
