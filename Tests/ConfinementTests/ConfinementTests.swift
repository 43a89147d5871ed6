// SPDX-License-Identifier: MIT

import CSeccomp
import Confinement
import Glibc
import TestSupport
import Testing

@Suite struct ConfinementTests {
    /// What the agent may read besides its own files.
    private static let system = ["/etc", "/usr", "/lib", "/lib64", "/proc", "/dev/urandom"]

    /// Runs the probe with a home beside its own directory; answers what each attempt got.
    private func outcomes(
        _ attempts: [String],
        confined: Bool = true,
        in home: TemporaryDirectory
    ) async throws -> [String: Int32] {
        let result = try await Program.run(
            [
                BuiltPrograms.directory + "/confinement-probe", confined ? "confined" : "free",
                (Self.system + [home.path("readable")]).joined(separator: ":"), home.path("own"),
            ] + attempts,
            environment: ["PATH": "/usr/bin:/bin"]
        )
        try #require(result.status == 0, "\(result)")
        let lines = result.standardOutput.split(separator: "\n")
        #expect(!lines.contains { $0.hasPrefix("gap") }, "\(result.standardOutput)")
        let pairs = lines.compactMap { line -> (String, Int32)? in
            let words = line.split(separator: " ")
            guard words.count == 2, let number = Int32(words[1]) else { return nil }
            return (String(words[0]), number)
        }
        return Dictionary(pairs) { $1 }
    }

    private func home() throws -> TemporaryDirectory {
        let home = try TemporaryDirectory()
        for name in ["own", "own/below", "readable", ".ssh"] { try home.makeDirectory(name) }
        for name in ["own/file", "readable/file", ".ssh/id", "document"] { try home.write("x", to: name) }
        return home
    }

    @Test func `every refused call is one libseccomp knows`() {
        let unknown = SystemCallFilter.refused.filter {
            seccomp_syscall_resolve_name($0) == seccomp_no_such_call
        }
        #expect(unknown.isEmpty)
        #expect(Set(SystemCallFilter.refused).count == SystemCallFilter.refused.count)
    }

    @Test func `every call of the list is refused`() async throws {
        let home = try home()
        let calls = SystemCallFilter.refused.filter { seccomp_syscall_resolve_name($0) >= 0 }
        let outcomes = try await outcomes(calls.map { "call=\($0)" }, in: home)
        #expect(calls.count > 40)
        for call in calls { #expect(outcomes["call=\(call)"] == EPERM, "\(call)") }
        Attachment.record("\(calls.count) calls refused", named: "figure")
    }

    @Test(arguments: [
        "execve", "ptrace", "process_vm_readv", "unshare", "setns", "pidfd_getfd", "name_to_handle_at",
    ])
    func `a free process gets another answer`(call: String) async throws {
        let outcomes = try await outcomes(["call=\(call)"], confined: false, in: home())
        #expect(outcomes["call=\(call)"] != EPERM)
    }

    @Test func `neither a process nor a namespace can be begun, but threads`() async throws {
        let attempts = ["clone=0", "clone=\(0x1000_0000)", "clone=\(0x0002_0000)", "type", "thread"]
        let confined = try await outcomes(attempts, in: home())
        for attempt in attempts.dropLast() { #expect(confined[attempt] == EPERM, "\(attempt)") }
        #expect(confined["thread"] == 0)
        let free = try await outcomes(["clone=0", "type"], confined: false, in: home())
        #expect(free["clone=0"] == 0)
        #expect(free["type"] == ENOTTY)
    }

    @Test func `files outside are closed off, whatever their mode`() async throws {
        let home = try home()
        let attempts = [
            "read=\(home.path(".ssh/id"))", "list=\(home.path(".ssh"))", "list=\(home.path)",
            "read=\(home.path("document"))", "write=\(home.path("document"))", "write=\(home.path("new"))",
            "write=\(home.path("readable/file"))", "makeDirectory=\(home.path("directory"))",
            "remove=\(home.path("document"))", "rename=\(home.path("readable/file"))",
            "link=\(home.path("own/link"))",
        ]
        let confined = try await outcomes(attempts + ["signal"], in: home)
        for attempt in attempts { #expect(confined[attempt] == EACCES, "\(attempt)") }
        #expect(confined["signal"] == EPERM)
        let free = try await outcomes(attempts + ["signal"], confined: false, in: home)
        for attempt in attempts + ["signal"] { #expect(free[attempt] == 0, "\(attempt)") }
    }

    @Test func `what the agent needs goes on working`() async throws {
        let home = try home()
        let attempts = [
            "read=\(home.path("own/file"))", "write=\(home.path("own/new"))", "list=\(home.path("own"))",
            "makeDirectory=\(home.path("own/directory"))", "rename=\(home.path("own/new"))",
            "remove=\(home.path("own/file"))", "write=\(home.path("own/below/new"))",
            "read=\(home.path("readable/file"))", "read=/etc/hosts", "read=/proc/self/status",
            "read=/dev/urandom", "listen", "thread", "resolve=localhost",
        ]
        let outcomes = try await outcomes(attempts, in: home)
        for attempt in attempts { #expect(outcomes[attempt] == 0, "\(attempt)") }
    }

    @Test func `a confined process gives the memory of its code back and goes on`() async throws {
        let home = try home()
        let outcomes = try await outcomes(
            ["releaseCode", "read=\(home.path("readable/file"))", "thread"],
            in: home
        )
        let left = try #require(outcomes["releaseCode"])
        #expect((0...60).contains(left), "\(left) % are still there")
        #expect(outcomes["read=\(home.path("readable/file"))"] == 0)
        #expect(outcomes["thread"] == 0)
        Attachment.record("\(left) % of the pages of code left", named: "figure")
    }
}
