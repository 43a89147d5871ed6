// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Data that other programs and users can see while the programs run.
    @Suite struct SecrecyTests {
        @Test(.holds("37")) func `no argument and no environment of any process ever shows a secret`()
            async throws
        {
            let scene = try await Scene.loggedIn(more: "[hooks]\nevent = [\"true\"]")
            let home = scene.agent.home.path
            let watch = Watch {
                File.names(in: "/proc").filter { $0.first?.isNumber == true }.flatMap { process -> [String] in
                    guard let environment = File.text("/proc/\(process)/environ"), environment.contains(home)
                    else { return [] }
                    return [environment, File.text("/proc/\(process)/cmdline") ?? ""]
                }
            }
            let secrets = try await scene.wholeRun()
            let seen = await watch.stop()
            for program in ["tokenagent", "tokenctl", "curl"] {
                #expect(seen.findings.contains { $0.contains(program) })
            }
            #expect(secrets.count > 5)
            let shown = seen.findings.filter { text in secrets.contains { text.contains($0) } }
            #expect(shown.isEmpty, "\(shown)")
            Attachment.record("\(shown.count) in \(seen.looks) looks at all processes", named: "figure")
        }

        @Test(.holds("39")) func `no file is ever open to others`() async throws {
            let scene = try await Scene()
            let roots = [scene.agent.home.path("state"), scene.agent.home.path("run")]
            let watch = Watch { roots.flatMap(SecrecyTests.openToOthers) }
            try await scene.agent.start()
            try await scene.logIn()
            _ = try await scene.wholeRun()
            let running = try scene.agent.startTokenctl(
                ["exec", "work", "--", "sh", "-c", "echo ready; exec tail -f /dev/null"]
            )
            _ = try await running.outputLine(containing: "ready")
            running.signal(.terminate)
            try await running.finish()
            try await scene.agent.kill()
            try await scene.agent.start()
            try await scene.agent.end()
            let seen = await watch.stop()
            #expect(seen.findings.isEmpty, "\(seen.findings)")
            #expect(seen.looks > 10)
            Attachment.record("\(seen.findings.count) in \(seen.looks) looks", named: "figure")
        }

        /// Everything at and below `path` that has a bit for the group or for others.
        private static func openToOthers(_ path: String) -> [String] {
            guard let mode = File.mode(path) else { return [] }
            let own =
                mode & 0o077 == 0 || File.linkTarget(path) != nil ? [] : ["\(String(mode, radix: 8)) \(path)"]
            return own + File.names(in: path).flatMap { openToOthers("\(path)/\($0)") }
        }

        @Test(.holds("35")) func `what hooks and secret commands inherit is the person's and nothing else`()
            async throws
        {
            let directory = try TemporaryDirectory()
            let script = try directory.write(
                "#!/bin/sh\nls -l /proc/$$/fd >\"$1.fds\"; env >\"$1.env\"; tr '\\0' ' ' </proc/$$/cmdline >\"$1.args\"; echo demo-secret-7f3a\n",
                to: "script",
                mode: 0o700
            )
            let scene = try await Scene(
                more: "[hooks]\nevent = [\"\(script)\", \"\(directory.path("hook"))\"]"
            )
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(
                text.replacing("demo-public", with: "demo-confidential")
                    + "client_secret_command = [\"\(script)\", \"\(directory.path("secret"))\"]\n"
            )
            try await scene.agent.start(extraEnvironment: [
                "NOTIFY_SOCKET": directory.path("none"), "SSLKEYLOGFILE": directory.path("keys"),
                "LD_LIBRARY_PATH": "/nonexistent", "MALLOC_PERTURB_": "1", "SWIFT_BACKTRACE": "enable=no",
                "CREDENTIALS_DIRECTORY": directory.path, "PERSON": "alice",
            ])
            try await scene.logIn()
            let secrets = [try await scene.token(), "demo-secret-7f3a"] + scene.issuer.livingRefreshTokens
            for name in ["hook", "secret"] {
                #expect(try await Polling.until { File.exists(directory.path("\(name).args")) })
                let environment = try #require(File.text(directory.path("\(name).env")))
                let arguments = try #require(File.text(directory.path("\(name).args")))
                let descriptors = try #require(File.text(directory.path("\(name).fds")))
                for secret in secrets { #expect(!(environment + arguments).contains(secret)) }
                #expect(environment.contains("PERSON=alice"))
                for word in ["NOTIFY_", "SSLKEYLOG", "LD_", "MALLOC_", "SWIFT_", "CREDENTIALS_"] {
                    #expect(!environment.contains("\n" + word) && !environment.hasPrefix(word), "\(word)")
                }
                let open = descriptors.split(separator: "\n").compactMap { line -> String? in
                    line.split(separator: " -> ").first?.split(separator: " ").last.map(String.init)
                }.filter { Int($0) != nil }
                // 10 and above: the shell's own hold on its script.
                #expect(open.allSatisfy { (Int($0) ?? 0) <= 2 || (Int($0) ?? 0) >= 10 }, "\(descriptors)")
                #expect(descriptors.contains("0 -> /dev/null"))
            }
        }
    }
}
