// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

@testable import CommandExecution

struct ProcessExaminationTests {
    private let examination = ProcessInspection()

    @Test func `a process is known by its program and its start`() throws {
        let facts = try #require(examination.facts(of: getpid()))
        var own = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &own, own.count)
        let path = String(decoding: own.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        #expect(facts.programs == [ProcessDescription.Program(executable: path)])
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        #expect(facts.startedAt > 0 && facts.startedAt < (Int64(now.tv_sec) + 1) * 1_000_000_000)
    }

    @Test func `a program has the digest of its file`() async throws {
        let sleeping = try Program(["sleep", "600"], environment: ["PATH": "/usr/bin:/bin"])
        let facts = try await Polling.value {
            guard let path = examination.facts(of: sleeping.pid)?.programs.first?.executable,
                path.hasSuffix("/sleep")
            else { return nil as ProcessDescription? }
            // What is not asked for is not read.
            #expect(examination.facts(of: sleeping.pid, digesting: ["/x"])?.programs.first?.digest == nil)
            return examination.facts(of: sleeping.pid, digesting: ["/x", path])
        }
        let program = try #require(facts?.programs.first)
        let told = try await Program.run(
            ["sha256sum", program.executable],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(told.standardOutput.split(separator: " ").first.map(String.init) == program.digest)
        sleeping.signal(.kill)
    }

    @Test(arguments: [("get work", BuiltPrograms.client), ("list", BuiltPrograms.commands)])
    func `tokenctl asks for the program that started it`(command: String, executable: String) async throws {
        let directory = try TemporaryDirectory()
        // The client waits for an agent that never answers.
        let agent = try ScriptedAgent(.hang)
        let shell = try Program(
            [
                "sh", "-c", "\"$0\" \(command) --socket \"$1\" & echo $!; wait", BuiltPrograms.client,
                agent.socket,
            ],
            environment: ["PATH": "/usr/bin:/bin", "TOKENAGENT_AUTOSTART": "0", "HOME": directory.path]
        )
        let number = try await Polling.value { pid_t(shell.standardOutput.filter(\.isNumber)) }
        let client = try #require(number)
        // `get` refuses inspection: only root can read which file it runs.
        let isHidden = executable == BuiltPrograms.client && !TestUser.isRoot
        let facts = try await Polling.value {
            let facts = examination.facts(of: client)
            guard !isHidden else { return facts?.executable == nil ? facts : nil }
            return facts?.programs.contains { $0.executable == executable } == true ? facts : nil
        }
        let found = try #require(facts)
        let shells = try #require(examination.facts(of: shell.pid)?.programs.first)
        // What a rule allows to tokenctl it allows to its other half.
        let half = examination.facts(of: client, digesting: [BuiltPrograms.client])?.programs
            .first { $0.executable == BuiltPrograms.client }
        let told = try await Program.run(
            ["sha256sum", BuiltPrograms.client],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        let digest = told.standardOutput.split(separator: " ").first.map(String.init)
        #expect(half?.digest == (isHidden ? nil : digest))
        #expect(found.programs.drop { $0.executable.hasPrefix(BuiltPrograms.client) }.first == shells)
        // A shell does not ask for anybody.
        #expect(examination.facts(of: shell.pid)?.programs.count == 1)
        kill(client, SIGKILL)
        shell.signal(.kill)
    }

    @Test func `a program that is no longer at its path is not known by it`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("snooze")
        let copied = try await Program.run(
            ["cp", "/bin/sleep", path],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(copied.status == 0)
        let program = try Program([path, "600"], environment: [:])
        #expect(
            try await Polling.until {
                examination.facts(of: program.pid)?.programs.first?.executable == path
            }
        )
        unlink(path)
        #expect(examination.facts(of: program.pid)?.programs.isEmpty == true)
        try directory.write("another", to: "snooze")
        #expect(examination.facts(of: program.pid)?.programs.isEmpty == true)
        program.signal(.kill)
    }

    @Test func `there is nothing to know about nobody`() {
        #expect(examination.facts(of: 4_194_304 + 1) == nil)
    }

    @Test func `a name may hold anything`() {
        let text = "12 (a) R (b)) S 7 12 12 0 -1 4194368 17 0 0 0 0 0 0 0 20 0 1 0 1215309 2400256\n"
        let status = ProcessDirectory.Status(text)
        #expect(status == ProcessDirectory.Status(name: "a) R (b)", parent: 7, startTicks: 1_215_309))
        #expect(ProcessDirectory.Status("12 (a) S 7") == nil)
        #expect(ProcessDirectory.Status("") == nil)
    }

    @Test func `questions and facts travel unchanged`() throws {
        let query = ProcessQuery(number: 7, process: 4711, digested: ["/a", "/b"])
        #expect(ProcessQuery(payload: Array(query.frame.dropFirst(5))) == query)
        #expect(query.frame[4] == RunnerFrameKind.examine.rawValue)
        let facts = ProcessDescription(
            programs: [.init(executable: "/a", digest: "00"), .init(executable: "/b")],
            unit: "u.service",
            startedAt: 3_000_000_000,
            image: nil,
            isProxy: true
        )
        #expect(ProcessDescription(encoded: facts.encoded) == facts)
        #expect(ProcessDescription(encoded: Array(facts.encoded.dropLast())) == nil)
    }
}
