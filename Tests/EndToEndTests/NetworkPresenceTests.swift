// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct NetworkPresenceTests {
        /// The sockets of a process, by their inode numbers.
        private static func sockets(of pid: Int32) -> Set<Substring> {
            let links = File.names(in: "/proc/\(pid)/fd").compactMap {
                File.linkTarget("/proc/\(pid)/fd/\($0)")
            }
            return Set(links.compactMap { $0.hasPrefix("socket:[") ? $0.dropFirst(8).dropLast() : nil })
        }

        /// Local addresses of the TCP sockets on which `pid` listens, as `/proc/net/tcp` writes them.
        private static func listeners(_ pid: Int32) -> [String] {
            let own = sockets(of: pid)
            let tables = (File.text("/proc/net/tcp") ?? "") + (File.text("/proc/net/tcp6") ?? "")
            return tables.split(separator: "\n").compactMap { row in
                let fields = row.split(separator: " ")
                guard fields.count > 9, fields[3] == "0A", own.contains(fields[9]) else { return nil }
                return String(fields[1])
            }
        }

        /// Abstract Unix sockets of `pid`.
        private static func abstractSockets(_ pid: Int32) -> [String] {
            let own = sockets(of: pid)
            return (File.text("/proc/net/unix") ?? "").split(separator: "\n").compactMap { row in
                let fields = row.split(separator: " ")
                guard fields.count > 7, own.contains(fields[6]), fields[7].hasPrefix("@") else { return nil }
                return String(fields[7])
            }
        }

        /// The processes whose environment names `home`: the agent, its runner, clients, and what they run.
        private static func processes(of home: String) -> [Int32] {
            File.names(in: "/proc").compactMap { Int32($0) }.filter {
                File.text("/proc/\($0)/environ")?.contains(home) == true
            }
        }

        @Test func `the agent listens to no network, except while a browser logs in`() async throws {
            let scene = try await Scene.loggedIn(more: "[hooks]\nevent = [\"true\"]")
            let pid = try #require(scene.agent.agent?.pid)
            let home = scene.agent.home.path
            #expect(Self.processes(of: home).contains(pid))
            let before = Watch { Self.processes(of: home).flatMap(Self.listeners) }
            _ = try await scene.wholeRun()
            _ = try await scene.agent.tokenctl("vault", "rekey")
            scene.agent.agent?.signal(.hangUp)
            let outside = await before.stop()
            #expect(outside.findings.isEmpty, "\(outside.findings)")
            // However many on this machine: each looks at every process there is.
            #expect(outside.looks > 0)
            let login = try scene.agent.startTokenctl(["login", "work", "--flow", "browser", "--no-browser"])
            let during = Watch { Self.processes(of: home).flatMap(Self.listeners) }
            _ = try await login.outputLine(containing: "/authorize?")
            let addresses = Self.listeners(pid)
            login.signal(.interrupt)
            try await login.finish()
            let seen = await during.stop()
            // 127.0.0.1, as /proc/net/tcp writes it.
            #expect(addresses.count == 1 && addresses.allSatisfy { $0.hasPrefix("0100007F:") })
            // No other either; on a busy machine the watch may not have come to look at all.
            #expect(seen.findings.isSubset(of: addresses))
            #expect(try await Polling.until { Self.listeners(pid).isEmpty })
            Attachment.record(
                "0 in \(outside.looks) looks outside a login, \(addresses.count) within",
                named: "figure"
            )
        }

        @Test func `the agent has no abstract socket`() async throws {
            let scene = try await Scene.loggedIn()
            let pid = try #require(scene.agent.agent?.pid)
            let watch = Watch { Self.abstractSockets(pid) }
            _ = try await scene.wholeRun()
            let seen = await watch.stop()
            #expect(seen.findings.isEmpty)
            #expect(seen.looks > 0)
            #expect(!Self.sockets(of: pid).isEmpty)
        }
    }
}
