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

        @Test(.holds("134"), arguments: [(false, 6.5), (true, 2.0)])
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

        /// The unit for service accounts, for this build's agent.
        private func systemUnit() throws -> TemporaryDirectory {
            let directory = try TemporaryDirectory()
            let text = try #require(
                File.text(BuiltPrograms.checkout + "/packaging/systemd/tokenagent@.service")
            )
            let lines = text.replacing("/usr/bin/tokenagent", with: BuiltPrograms.agent)
                .split(separator: "\n").filter { !$0.hasPrefix("Documentation=") }
            try directory.write(lines.joined(separator: "\n") + "\n", to: "tokenagent@.service")
            return directory
        }

        @Test(.holds("134")) func `the unit for service accounts is right, and closes off what it can`()
            async throws
        {
            let directory = try systemUnit()
            let verified = try await analyze(["verify", "./tokenagent@.service"], in: directory)
            #expect(verified.status == 0 && verified.standardError.isEmpty, "\(verified)")
            let result = try await analyze(
                ["security", "--offline=yes", "--no-pager", "./tokenagent@.service"],
                in: directory
            )
            let line = result.standardOutput.split(separator: "\n").last { $0.contains("exposure level") }
            let score = line?.split(separator: " ").compactMap { Double($0) }.first
            #expect(try #require(score, "\(result)") <= 2)
        }

        /// Without systemd as the first process: with its variables and the directories that it would make.
        @Test(
            .holds("134"),
            .enabled(if: OtherUser.canRunPrograms, "only root can become a user who may run our programs")
        )
        func `an agent of a service account starts as its unit says`() async throws {
            let place = try TemporaryDirectory()
            try #require(Program.succeeds("chmod 755 '\(place.path)'"))
            var environment = ["PATH": "/usr/bin:/bin"]
            let directory = try systemUnit()
            let unit = try #require(File.text(directory.path("tokenagent@.service")))
            for line in unit.split(separator: "\n") where line.hasPrefix("Environment=") {
                let parts = line.dropFirst(12).split(separator: "=", maxSplits: 1).map(String.init)
                let value = parts[1].replacing("%i", with: "build")
                environment[parts[0]] = value.hasPrefix("/") ? place.path + value : value
            }
            let made = [
                ("var/lib/tokenagent/build", true), ("run/tokenagent/build", true),
                ("etc/tokenagent/build", false),
            ]
            for (path, isOwn) in made {
                let owner =
                    isOwn ? "chown \(OtherUser.number) '\(place.path)/\(path)' && chmod 700" : "chmod 755"
                try #require(
                    Program.succeeds(
                        "umask 022; mkdir -p '\(place.path)/\(path)' && \(owner) '\(place.path)/\(path)'"
                    )
                )
            }
            let configuration = try #require(environment["TOKENAGENT_CONFIG"])
            try File.write(
                "[session.work]\nkind = \"command\"\ncommand = [\"echo\", \"tok\"]\n",
                to: configuration
            )
            try #require(Program.succeeds("chmod 644 '\(configuration)'"))
            let agent = try Program(
                OtherUser.wrapper + [BuiltPrograms.agent, "--foreground"],
                environment: environment
            )
            environment["TOKENAGENT_AUTOSTART"] = "0"
            let client = OtherUser.wrapper + [BuiltPrograms.client, "get", "work"]
            let answers = try await Polling.until {
                try #require(agent.exitStatus == nil, "\(agent.standardError)")
                return try await Program.run(client, environment: environment).line == "tok"
            }
            #expect(answers, "\(agent.standardError)")
            agent.signal(.terminate)
            #expect(try await agent.finish().status == 0)
        }

        @Test(.holds("134"), arguments: [false, true])
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
