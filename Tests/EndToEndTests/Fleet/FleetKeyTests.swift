// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// `tokenctl fleet init` and `rekey`: the files with a fleet's keys.
    @Suite(.full) struct FleetKeyTests {
        private let agent: AgentUnderTest
        private var file: String { agent.home.path("fleet.key") }
        private var readersFile: String { agent.home.path("fleet.key.reader") }

        init() throws {
            agent = try AgentUnderTest()
        }

        private func message(_ words: String...) async throws -> JSONObject {
            let result = try await agent.tokenctl(["fleet"] + words + ["--key-file", file, "--json"])
            try #require(result.status == 0, "\(result)")
            return try #require(try JSONValue(parsing: result.standardOutput.utf8).object)
        }

        @Test func `a new fleet has a file for keepers and one for readers, for their owner alone`()
            async throws
        {
            let made = try await agent.tokenctl("fleet", "init", "--name", "build", "--key-file", file)
            #expect(made.status == 0, "\(made)")
            #expect(made.standardError.isEmpty)
            for path in [file, readersFile] {
                #expect(File.mode(path) == 0o600)
                #expect(made.standardOutput.contains("  \(path)\n"), "\(made)")
            }
            #expect(File.text(file)?.hasPrefix("tokenagent-fleet-keeper-1:") == true)
            #expect(File.text(readersFile)?.hasPrefix("tokenagent-fleet-reader-1:") == true)
            #expect(!File.exists(agent.socketPath), "an agent was started")
        }

        @Test func `the table it prints is one that the agent reads`() async throws {
            let made = try await agent.tokenctl("fleet", "init", "--key-file", file)
            let lines = made.standardOutput.split(separator: "\n")
            let table = lines.drop { !$0.hasSuffix("[fleet]") }.prefix { $0.hasPrefix("   ") }.prefix(5)
            try agent.configure(table.joined(separator: "\n") + "\n")
            let check = try await agent.tokenctl("config", "check")
            #expect(check.status == 0, "\(check)")
            #expect(table.count == 5, "\(made)")
        }

        @Test func `a new key leaves the fleet's name and its place in etcd`() async throws {
            let made = try await message("init", "--name", "build")
            #expect(made["epoch"]?.integer == 1)
            let before = File.text(file)
            for epoch: Int64 in 2...7 {
                let renewed = try await message("rekey")
                #expect(renewed["epoch"]?.integer == epoch)
                for member in ["fleet", "etcd_prefix", "keepers_file", "readers_file"] {
                    #expect(renewed[member] == made[member] && made[member] != nil, "\(member)")
                }
            }
            #expect(File.text(file) != before)
            // One line of at most four keys.
            #expect((File.bytes(file) ?? []).count < 500)
            #expect([file, readersFile].map(File.mode) == [0o600, 0o600])
        }

        @Test(arguments: ["fleet.key", "fleet.key.reader"])
        func `what is there is not written over`(name: String) async throws {
            let path = try agent.home.write("something", to: name)
            let refused = try await agent.tokenctl("fleet", "init", "--key-file", file)
            #expect(refused.status == 2, "\(refused)")
            #expect(refused.standardError.contains("\(path) already exists"), "\(refused)")
            #expect(File.text(path) == "something")
            #expect([file, readersFile].filter(File.exists) == [path])
            #expect(PrintedRemedy(refused, holding: "with another file") != nil, "\(refused)")
            let another = try await agent.tokenctl("fleet", "init", "--key-file", agent.home.path("another"))
            #expect(another.status == 0, "\(another)")
        }

        @Test(arguments: [
            (
                "cp other.reader fleet.key.reader", ".reader",
                "after moving the file away that ends in .reader"
            ),
            ("true", ".reader/", "with the keepers' file"),
            ("true", "--activate", "tokenctl fleet rekey --stage --key-file"),
        ])
        func `a key that is not renewed is renewed as it is said`(
            change: String,
            kind: String,
            words: String
        ) async throws {
            _ = try await message("init")
            let other = try await agent.tokenctl("fleet", "init", "--key-file", agent.home.path("other"))
            try #require(other.status == 0, "\(other)")
            try #require(try await agent.shell("cd && \(change)").status == 0)
            let path = kind == ".reader/" ? readersFile : file
            let option = kind == "--activate" ? [kind] : []
            let refused = try await agent.tokenctl(["fleet", "rekey", "--key-file", path] + option)
            let remedy = try #require(PrintedRemedy(refused, holding: words), "\(refused)")
            if kind == ".reader" { File.remove(readersFile) }
            if let command = remedy.command {
                let staged = try await agent.shell(command)
                #expect(staged.status == 0, "\(staged)")
            }
            let renewed = try await agent.tokenctl(["fleet", "rekey", "--key-file", file] + option)
            #expect(renewed.status == 0, "\(renewed)")
        }

        @Test(arguments: [
            ("no file", "rm fleet.key", "does not exist"),
            ("a file that others read", "chmod 644 fleet.key", "allows access by others"),
            ("a link", "mv fleet.key real && ln -s real fleet.key", "is a symbolic link"),
            ("the readers' file", "cp fleet.key.reader fleet.key", "is the readers' key"),
            ("a file that was cut", "truncate -s 100 fleet.key", "is damaged"),
            (
                "a text beside it", "echo text >fleet.key.reader",
                ".reader file next to it is not the key of a fleet"
            ),
            ("the key of another fleet beside it", "cp other.reader fleet.key.reader", "is of another fleet"),
            ("a link beside it", "ln -sf other.reader fleet.key.reader", "is a symbolic link"),
        ])
        func `no new key is put into`(what: String, change: String, message: String) async throws {
            _ = try await self.message("init")
            let other = try await agent.tokenctl("fleet", "init", "--key-file", agent.home.path("other"))
            try #require(other.status == 0, "\(other)")
            let changed = try await agent.shell("cd '\(agent.home.path)' && \(change)")
            try #require(changed.status == 0, "\(changed)")
            let before = [file, readersFile].map(File.bytes)
            let refused = try await agent.tokenctl("fleet", "rekey", "--key-file", file)
            #expect(refused.status == 2, "\(what): \(refused)")
            #expect(refused.standardError.contains(message), "\(refused)")
            #expect([file, readersFile].map(File.bytes) == before)
        }

        @Test func `a name that the configuration would refuse is refused`() async throws {
            let refused = try await agent.tokenctl("fleet", "init", "--name", "a b", "--key-file", file)
            #expect(refused.status == 2, "\(refused)")
            #expect(refused.standardError.contains("a fleet's name has 1 to 64 letters"))
            #expect(!File.exists(file))
        }
    }
}
