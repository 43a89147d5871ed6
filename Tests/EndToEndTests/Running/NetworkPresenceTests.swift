// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite(.full) struct NetworkPresenceTests {
        /// Abstract Unix sockets of `pid`.
        private static func abstractSockets(_ pid: Int32) -> [String] {
            let own = ListeningSocket.inodes(ofProcess: pid)
            return (File.text("/proc/net/unix") ?? "").split(separator: "\n").compactMap { row in
                let fields = row.split(separator: " ")
                guard fields.count > 7, own.contains(String(fields[6])), fields[7].hasPrefix("@") else {
                    return nil
                }
                return String(fields[7])
            }
        }

        /// The processes whose environment names `home`: the agent, its runner, clients, and what they run.
        private static func processes(of home: String) -> [Int32] {
            File.names(in: "/proc").compactMap { Int32($0) }.filter {
                File.text("/proc/\($0)/environ")?.contains(home) == true
            }
        }

        @Test(.holds("135", "O12")) func `the agent listens to no network, except while a browser logs in`()
            async throws
        {
            let scene = try await Scene.loggedIn(more: "[hooks]\nevent = [\"true\"]")
            let pid = try #require(scene.agent.agent?.pid)
            let home = scene.agent.home.path
            #expect(Self.processes(of: home).contains(pid))
            let before = Watch { Self.processes(of: home).flatMap(ListeningSocket.all) }
            _ = try await scene.wholeRun()
            _ = try await scene.agent.tokenctl("vault", "rekey")
            scene.agent.agent?.signal(.hangUp)
            let outside = await before.stop()
            #expect(outside.findings.isEmpty, "\(outside.findings)")
            // However many on this machine: each looks at every process there is.
            #expect(outside.looks > 0)
            let login = try scene.agent.startTokenctl(["login", "work", "--flow", "browser", "--no-browser"])
            let during = Watch { Self.processes(of: home).flatMap(ListeningSocket.all) }
            _ = try await login.outputLine(containing: "/authorize?")
            let sockets = ListeningSocket.all(ofProcess: pid)
            login.signal(.interrupt)
            try await login.finish()
            let seen = await during.stop()
            #expect(sockets.map(\.address) == ["0100007F"])
            // No other either; on a busy machine the watch may not have come to look at all.
            #expect(seen.findings.isSubset(of: sockets))
            #expect(try await Polling.until { ListeningSocket.all(ofProcess: pid).isEmpty })
            Attachment.record(
                "0 in \(outside.looks) looks outside a login, \(sockets.count) within",
                named: "figure"
            )
        }

        @Test(.holds("136")) func `the agent has no abstract socket`() async throws {
            let scene = try await Scene.loggedIn()
            let pid = try #require(scene.agent.agent?.pid)
            let watch = Watch { Self.abstractSockets(pid) }
            _ = try await scene.wholeRun()
            let seen = await watch.stop()
            #expect(seen.findings.isEmpty)
            #expect(seen.looks > 0)
            #expect(!ListeningSocket.inodes(ofProcess: pid).isEmpty)
        }
    }
}
