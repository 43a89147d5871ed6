// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

struct ListeningSocketTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test(.holds("1")) func `directory and socket are private whatever the umask`() async {
        await #expect(processExitsWith: .success) {
            for mask: mode_t in [0, 0o777] {
                let directory = try TemporaryDirectory()
                umask(mask)
                let socket = try ListeningSocket.bind(to: directory.path("a/b/agent.sock"))
                umask(0o022)
                precondition(File.mode(directory.path("a")) == 0o700)
                precondition(File.mode(directory.path("a/b")) == 0o700)
                precondition(File.mode(directory.path("a/b/agent.sock")) == 0o600)
                close(socket.descriptor)
            }
            exit(0)
        }
    }

    @Test(
        .holds("1"),
        arguments: [(0o600, 0o700), (0o660, 0o711), (0o606, 0o711), (0o666, 0o711)] as [(mode_t, mode_t)]
    )
    func `a directory that is made lets those pass whom the socket lets in`(mode: mode_t, made: mode_t) throws
    {
        let path = directory.path("a/b/x.sock")
        let bound = try ListeningSocket.bind(to: path, mode: mode)
        defer { close(bound.descriptor) }
        #expect(File.mode(path) == mode)
        for name in ["a", "a/b"] { #expect(File.mode(directory.path(name)) == made) }
    }

    @Test(.holds("1")) func `the umask is as before afterwards, also of threads that listen at once`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            umask(0o027)
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<8 {
                    group.addTask {
                        for turn in 0..<100 {
                            let path = directory.path("run/\(thread).\(turn).sock")
                            guard let bound = try? ListeningSocket.bind(to: path) else {
                                preconditionFailure("nothing listens at \(path)")
                            }
                            close(bound.descriptor)
                        }
                    }
                }
            }
            precondition(umask(0) == 0o027)
            exit(0)
        }
    }

    @Test(.holds("15")) func `a live agent is left alone`() throws {
        let path = directory.path("run/agent.sock")
        let first = try ListeningSocket.bind(to: path)
        defer { close(first.descriptor) }
        #expect(throws: ListenFailure.alreadyRunning(path: path)) { try ListeningSocket.bind(to: path) }
        #expect(first.isInPlace)
    }

    @Test(.holds("15")) func `what a killed agent left is taken over`() throws {
        let path = directory.path("run/agent.sock")
        close(try ListeningSocket.bind(to: path).descriptor)
        #expect(File.exists(path))
        let second = try ListeningSocket.bind(to: path)
        defer { close(second.descriptor) }
        #expect(second.isInPlace)
        #expect(File.mode(path) == 0o600)
    }

    @Test(.holds("15")) func `of many agents that start at once one listens`() async throws {
        let path = directory.path("run/agent.sock")
        close(try ListeningSocket.bind(to: path).descriptor)
        for _ in 0..<200 {
            // A program that another test is just starting has the last winner's socket open for a moment, and then
            // nobody wins.
            _ = try await Polling.until {
                let winners = await withTaskGroup(of: CInt?.self) { group in
                    for _ in 0..<8 { group.addTask { try? ListeningSocket.bind(to: path).descriptor } }
                    return await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
                }
                #expect(winners.count <= 1)
                for descriptor in winners { close(descriptor) }
                return winners.count == 1
            }
        }
    }

    @Test(.holds("2")) func `something else at the path is not touched`() throws {
        try directory.makeDirectory("run")
        let path = try directory.write("mine", to: "run/agent.sock")
        #expect(throws: ListenFailure.occupied(path: path)) { try ListeningSocket.bind(to: path) }
        #expect(File.text(path) == "mine")
    }

    @Test(.holds("18")) func `a path of 107 bytes works and one of 108 is refused`() throws {
        let room = ListeningSocket.maximumPathLength - directory.path("/").utf8.count
        let path = directory.path("/" + String(repeating: "s", count: room))
        #expect(path.utf8.count == 107)
        close(try ListeningSocket.bind(to: path).descriptor)
        #expect(throws: ListenFailure.pathTooLong(path: path + "s")) {
            try ListeningSocket.bind(to: path + "s")
        }
    }

    @Test(.holds("2"), arguments: ["link", "open", "file", "below-open"])
    func `a directory others could change is refused and stays as it is`(kind: String) throws {
        let run = directory.path("run")
        switch kind {
        case "link":
            try directory.makeDirectory("target")
            symlink(directory.path("target"), run)
        case "open":
            try directory.makeDirectory("run")
            chmod(run, 0o770)
        case "file": try directory.write("", to: "run")
        default: chmod(directory.path, 0o777)
        }
        #expect(throws: ListenFailure.self) { try ListeningSocket.bind(to: run + "/agent.sock") }
        #expect(!File.exists(run + "/agent.sock"))
        #expect(!File.exists(directory.path("target/agent.sock")))
    }

    @Test(.holds("2"), .enabled(if: geteuid() == 0, "only root can give a directory away"))
    func `a directory of another user is refused`() throws {
        let run = try directory.makeDirectory("run")
        chown(run, 65_534, 65_534)
        #expect(throws: ListenFailure.unsafeDirectory(path: run, reason: "it belongs to user 65534")) {
            try ListeningSocket.bind(to: run + "/agent.sock")
        }
    }

    @Test(.holds("17")) func `only a listening Unix socket is inherited, and its file is not ours`() throws {
        let path = directory.path("run/agent.sock")
        let descriptor = try ListeningSocket.bind(to: path).descriptor
        defer { close(descriptor) }
        let inherited = try ListeningSocket.inherited(descriptor)
        inherited.removeFile()
        #expect(File.exists(path))
        #expect(throws: ListenFailure.notASocket(descriptor: 0)) { try ListeningSocket.inherited(0) }
        let unbound = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        defer { close(unbound) }
        #expect(throws: ListenFailure.notASocket(descriptor: unbound)) {
            try ListeningSocket.inherited(unbound)
        }
    }

    @Test(arguments: [false, true])
    func `what a peer writes before anybody looks at its socket has a known writer`(isInherited: Bool) throws
    {
        let path = directory.path("run/agent.sock")
        let bound = try ListeningSocket.bind(to: path)
        defer { close(bound.descriptor) }
        if isInherited {
            var off: CInt = 0
            setsockopt(bound.descriptor, SOL_SOCKET, SO_PASSCRED, &off, socklen_t(MemoryLayout<CInt>.size))
            _ = try ListeningSocket.inherited(bound.descriptor)
        }
        let peer = try SocketPeer(path)
        let accepted = accept(bound.descriptor, nil, nil)
        defer { close(accepted) }
        try peer.send("GET")
        let witness = PeerIdentityVerifier(process: getpid())
        let senders = SenderVerifier(descriptor: accepted, witness: witness)
        senders.look()
        senders.recordRead()
        let facts = PeerIdentity(programs: [], unit: nil, startedAt: Instant(nanoseconds: 1))
        witness.identify(facts, facts)
        #expect(witness.facts != nil)
    }

    @Test(.holds("16")) func `a socket that is no longer at its path is noticed and not removed`() throws {
        let path = directory.path("run/agent.sock")
        let socket = try ListeningSocket.bind(to: path)
        defer { close(socket.descriptor) }
        unlink(path)
        #expect(!socket.isInPlace)
        try directory.write("other", to: "run/agent.sock")
        socket.removeFile()
        #expect(File.text(path) == "other")
    }
}
