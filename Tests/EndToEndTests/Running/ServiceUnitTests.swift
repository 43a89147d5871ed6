// SPDX-License-Identifier: MIT

import TestSupport
import Testing

private let hasAnalyzer = Program.succeeds("systemd-analyze security --help | grep -q -- --offline")

extension EndToEnd {
    @Suite(.enabled(if: hasAnalyzer, "systemd-analyze is missing"))
    struct ServiceUnitTests {
        /// The units as they would be installed, for this build's agent.
        private func units(strict: Bool) throws -> TemporaryDirectory {
            let directory = try TemporaryDirectory()
            let source = BuiltPrograms.checkout + "/packaging/systemd/"
            for name in ["tokenagent.service", "tokenagent.socket"] {
                let text = try #require(File.text(source + name))
                let lines = text.replacing("/usr/bin/tokenagent", with: BuiltPrograms.agent)
                    .split(separator: "\n").filter { !$0.hasPrefix("Documentation=") }
                try directory.write(lines.joined(separator: "\n") + "\n", to: name)
            }
            guard strict else { return directory }
            try directory.makeDirectory("tokenagent.service.d")
            let text = try #require(File.text(source + "strict.conf"))
            try directory.write(text, to: "tokenagent.service.d/strict.conf")
            return directory
        }

        private func analyze(
            _ arguments: [String],
            in directory: TemporaryDirectory
        ) async throws
            -> ProgramResult
        {
            let environment = [
                "PATH": TestEnvironment.searchPath, "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": directory.path,
            ]
            return try await Program.run(
                ["systemd-analyze"] + arguments,
                environment: environment,
                directory: directory.path
            )
        }

        @Test(arguments: [(false, 6.5), (true, 2.0)])
        func `the exposure of the unit is as low as promised`(strict: Bool, limit: Double) async throws {
            let result = try await analyze(
                ["security", "--offline=yes", "--no-pager", "./tokenagent.service"],
                in: units(strict: strict)
            )
            let line = result.standardOutput.split(separator: "\n").last { $0.contains("exposure level") }
            let score = line?.split(separator: " ").compactMap { Double($0) }.first
            #expect(try #require(score, "\(result)") <= limit)
            Attachment.record("\(strict ? "strict" : "default") \(score ?? 10)", named: "figure")
        }

        @Test(arguments: [false, true])
        func `systemd finds nothing to complain about`(strict: Bool) async throws {
            let result = try await analyze(
                ["verify", "./tokenagent.service", "./tokenagent.socket"],
                in: units(strict: strict)
            )
            #expect(result.status == 0)
            #expect(result.standardError.isEmpty, "\(result.standardError)")
        }
    }
}
