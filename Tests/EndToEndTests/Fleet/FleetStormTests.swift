// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// A short run of `Scripts/fleet-test`: hosts in networks of their own, an issuer with the habits of six servers, and a
    /// judge that knows what everybody has seen.
    @Suite(.full, .enabled(if: FleetPage.isPossible, "etcd or openssl is not installed"))
    struct FleetStormTests {
        @Test(.holds("262")) func `agents that are killed at any step lose no login, and send nothing twice`()
            async throws
        {
            let run = try await Program.run(
                ["python3", "-B", "\(BuiltPrograms.checkout)/Scripts/fleet-test", BuiltPrograms.directory]
                    + ["--short", "--scenario", "kill"],
                environment: [
                    "PATH": TestEnvironment.searchPath, "HOME": TestEnvironment.value("HOME") ?? "/",
                ],
                within: .seconds(300)
            )
            #expect(run.status == 0, "\(run.standardOutput)\(run.standardError)")
            let figures = run.standardOutput.split(separator: "\n").filter { $0.hasPrefix("figure: ") }
            #expect(figures.count == 2)
            for figure in figures { Attachment.record(String(figure), named: "figure") }
        }
    }
}
