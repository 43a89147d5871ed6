// SPDX-License-Identifier: MIT

import Confinement
import Glibc
import TestSupport
import Testing

@Suite struct ConfinementTests {
    /// The paths that the agent may read besides its own files.
    private static let system = ["/etc", "/usr", "/lib", "/lib64", "/proc", "/dev/urandom"]

    /// Runs the probe with a home directory next to its own directory, and returns the result of each attempt.
    private func outcomes(
        _ attempts: [String],
        confined: Bool = true,
        in home: TemporaryDirectory
    ) async throws -> [String: Int32] {
        let result = try await Program.run(
            [
                BuiltPrograms.directory + "/confinement-probe", confined ? "confined" : "free",
                (Self.system + [home.path("readable")]).joined(separator: ":"),
                "\(home.path("own")):+\(home.path("tokens"))",
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
        for name in ["own", "own/below", "readable", ".ssh", "tokens"] { try home.makeDirectory(name) }
        for name in ["own/file", "readable/file", ".ssh/id", "document", "tokens/file"] {
            try home.write("x", to: name)
        }
        return home
    }

    /// Calls of old machines only, which the machines of today do not have.
    private static let elsewhere: Set<String> = {
        var calls: Set = ["umount"]
        #if !arch(x86_64)
        calls.formUnion([
            "chmod", "fork", "futimesat", "ioperm", "iopl", "modify_ldt", "utime", "utimes", "vfork",
        ])
        #endif
        return calls
    }()

    @Test(.holds("133")) func `every refused call has a number on this machine, or is one of other machines`()
    {
        let unknown = SystemCallFilter.refused.filter { SystemCallFilter.number(of: $0) == nil }
        #expect(Set(unknown).isSubset(of: Self.elsewhere))
        #expect(Set(SystemCallFilter.refused).count == SystemCallFilter.refused.count)
        #expect(SystemCallFilter.number(of: "no_such_call") == nil)
    }

    @Test(.holds("133")) func `every call of the list is refused`() async throws {
        let home = try home()
        let calls = SystemCallFilter.refused.filter { SystemCallFilter.number(of: $0) != nil }
        let outcomes = try await outcomes(calls.map { "call=\($0)" }, in: home)
        #expect(calls.count > 40)
        for call in calls { #expect(outcomes["call=\(call)"] == EPERM, "\(call)") }
        Attachment.record("\(calls.count) calls refused", named: "figure")
    }

    @Test(
        .holds("133"),
        arguments: [
            "execve", "ptrace", "process_vm_readv", "unshare", "setns", "pidfd_getfd", "name_to_handle_at",
        ]
    )
    func `a free process gets another answer`(call: String) async throws {
        let outcomes = try await outcomes(["call=\(call)"], confined: false, in: home())
        #expect(outcomes["call=\(call)"] != EPERM)
    }

    @Test(.holds("133")) func `neither a process nor a namespace can be begun, but threads`() async throws {
        let attempts = ["clone=0", "clone=\(0x1000_0000)", "clone=\(0x0002_0000)", "type", "thread"]
        let confined = try await outcomes(attempts, in: home())
        for attempt in attempts.dropLast() { #expect(confined[attempt] == EPERM, "\(attempt)") }
        #expect(confined["thread"] == 0)
        let free = try await outcomes(["clone=0", "type"], confined: false, in: home())
        #expect(free["clone=0"] == 0)
        #expect(free["type"] == ENOTTY)
    }

    @Test(.holds("133")) func `a confined process stays closed to others`() async throws {
        let attempts = ["expose", "tracer"]
        let confined = try await outcomes(attempts, in: home())
        for attempt in attempts { #expect(confined[attempt] == EPERM, "\(attempt)") }
        #expect(try await outcomes(["expose"], confined: false, in: home())["expose"] == 0)
    }

    @Test(.holds("133")) func `sockets lead to other processes and the network, and nowhere into the kernel`()
        async throws
    {
        let (stream, datagram, raw) = (1, 2, 3)
        let needed = [
            "socket=\(AF_UNIX),\(stream)", "socket=\(AF_INET),\(datagram)", "socket=\(AF_INET6),\(stream)",
            "socket=\(AF_NETLINK),\(raw),0", "pair=\(AF_UNIX)",
        ]
        // Vsock, the kernel's ciphers, Bluetooth, packets; then netlink beyond routes: packet filters, and events.
        let families = ["socket=40,1", "socket=38,5", "socket=31,3", "socket=17,3", "pair=30"]
        let protocols = ["socket=\(AF_NETLINK),\(raw),12", "socket=\(AF_NETLINK),\(raw),15"]
        let confined = try await outcomes(needed + families + protocols, in: home())
        for attempt in needed { #expect(confined[attempt] == 0, "\(attempt)") }
        for attempt in families { #expect(confined[attempt] == EAFNOSUPPORT, "\(attempt)") }
        for attempt in protocols { #expect(confined[attempt] == EPROTONOSUPPORT, "\(attempt)") }
        let free = try await outcomes(protocols + ["pair=\(AF_UNIX)"], confined: false, in: home())
        for attempt in protocols { #expect(free[attempt] == 0, "\(attempt)") }
    }

    @Test func `in a directory for files they can be made, replaced and removed, and nothing else`()
        async throws
    {
        let home = try home()
        let (new, old) = (home.path("tokens/new"), home.path("tokens/file"))
        let allowed = ["write=\(new)", "rename=\(new)", "remove=\(new).renamed", "remove=\(old)"]
        let refused = [
            "read=\(old)", "list=\(home.path("tokens"))", "makeDirectory=\(new).d", "link=\(new).l",
        ]
        let confined = try await outcomes(refused + allowed, in: home)
        for attempt in allowed { #expect(confined[attempt] == 0, "\(attempt)") }
        for attempt in refused { #expect(confined[attempt] == EACCES, "\(attempt)") }
    }

    @Test(.holds("133")) func `a call by the rules of another machine ends the process`() async throws {
        let home = try home()
        let result = try await Program.run(
            [
                BuiltPrograms.directory + "/confinement-probe", "confined", "/usr", home.path("own"),
                "foreign",
            ],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(result.status == 128 + SIGSYS, "\(result)")
    }

    @Test(.holds("133")) func `files outside are closed off, whatever their mode`() async throws {
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

    /// No file rule is about them.
    @Test(.holds("133")) func `modes, owners, times and attributes of files stay as they are`() async throws {
        let home = try home()
        let files = [".ssh/id", ".ssh", "document", "readable/file", "own/file"].map { home.path($0) }
        // Modes last: they close the directory.
        let attempts = ["owner", "times", "attribute", "mode"].flatMap { attempt in
            files.map { "\(attempt)=\($0)" }
        }
        let confined = try await outcomes(attempts, in: home)
        for attempt in attempts { #expect(confined[attempt] == EPERM, "\(attempt)") }
        let free = try await outcomes(attempts, confined: false, in: home)
        // Not every file system has attributes of users.
        for attempt in attempts where !attempt.hasPrefix("attribute=") || free[attempt] != EOPNOTSUPP {
            #expect(free[attempt] == 0, "\(attempt)")
        }
    }

    /// A `[[socket]]` may be for a group.
    @Test(.holds("133")) func `the group of a file can be changed while its owner stays`() async throws {
        let home = try home()
        let attempt = "group=\(home.path("own/file"))"
        #expect(try await outcomes([attempt], in: home)[attempt] == 0)
    }

    @Test(.holds("133")) func `what the agent needs goes on working`() async throws {
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
