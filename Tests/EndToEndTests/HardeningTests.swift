// SPDX-License-Identifier: MIT

import DemoIssuer
import StrictJSON
import TestSupport
import Testing

extension EndToEnd {
    @Suite struct HardeningTests {
        @Test func `the agent has given up what it does not need`() async throws {
            let scene = try await Scene.loggedIn()
            let pid = try #require(scene.agent.agent?.pid)
            let status = try #require(File.text("/proc/\(pid)/status"))
            #expect(status.contains("NoNewPrivs:\t1\n"))
            let limits = try #require(File.text("/proc/\(pid)/limits"))
            let core = try #require(
                limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            )
            #expect(core.split(separator: " ").filter { $0 == "0" }.count == 2)
        }

        @Test func `no secret is in its command line or environment`() async throws {
            let scene = try await Scene.loggedIn()
            let pid = try #require(scene.agent.agent?.pid)
            let environment = try #require(File.text("/proc/\(pid)/environ"))
            let arguments = try #require(File.text("/proc/\(pid)/cmdline"))
            for secret in [try await scene.token()] + scene.issuer.livingRefreshTokens {
                #expect(!(environment + arguments).contains(secret))
            }
        }

        @Test func `the agent listens to no network, except while a browser logs in`() async throws {
            let scene = try await Scene.loggedIn()
            let pid = try #require(scene.agent.agent?.pid)
            #expect(try await listeners(pid, scene).isEmpty)
            let login = try scene.agent.startTokenctl(["login", "work", "--flow", "browser", "--no-browser"])
            _ = try await login.outputLine(containing: "/authorize?")
            let during = try await listeners(pid, scene)
            #expect(during.count == 1)
            // 127.0.0.1, as /proc/net/tcp writes it.
            #expect(during.allSatisfy { $0.hasPrefix("0100007F:") })
            login.signal(.interrupt)
            try await login.finish()
            #expect(try await Polling.until { try await listeners(pid, scene).isEmpty })
        }

        /// Local addresses of the TCP sockets on which `pid` listens.
        private func listeners(_ pid: Int32, _ scene: Scene) async throws -> [String] {
            let descriptors = try await scene.agent.shell(
                "ls -l /proc/\(pid)/fd | grep -o 'socket:\\[[0-9]*' || :"
            )
            let inodes = Set(
                descriptors.standardOutput.split(separator: "\n").compactMap { $0.split(separator: "[").last }
            )
            let tables = (File.text("/proc/net/tcp") ?? "") + (File.text("/proc/net/tcp6") ?? "")
            return tables.split(separator: "\n").compactMap { row in
                let fields = row.split(separator: " ")
                guard fields.count > 9, fields[3] == "0A", inodes.contains(fields[9]) else { return nil }
                return String(fields[1])
            }
        }

        @Test(.enabled(if: TestUser.isRoot, "only root can become somebody else"))
        func `another user is sent away even where the socket is open`() async throws {
            let scene = try await Scene.loggedIn()
            let directory = scene.agent.home.path("run/tokenagent")
            let opened = try await scene.agent.shell(
                "chmod 755 '\(scene.agent.home.path)' '\(scene.agent.home.path("run"))' '\(directory)' && chmod 666 '\(scene.agent.socketPath)'"
            )
            try #require(opened.status == 0)
            let stranger = try await scene.agent.shell(
                """
                setpriv --reuid 65534 --regid 65534 --clear-groups \
                    curl -s --max-time 5 --unix-socket '\(scene.agent.socketPath)' http://tokenagent/v1/sessions/work/token
                """
            )
            #expect(stranger.status != 0)
            #expect(stranger.standardOutput.isEmpty)
            #expect(try await Polling.until { scene.agent.log.contains("65534") })
            #expect(try await scene.token().isEmpty == false)
        }
    }
}
