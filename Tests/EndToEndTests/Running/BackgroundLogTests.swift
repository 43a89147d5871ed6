// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// Where an agent logs that nobody watches.
    @Suite struct BackgroundLogTests {
        private static let canMount = Program.succeeds("unshare -m mount -t tmpfs none /run")

        /// Runs `script` where the system has neither journal nor syslog, but for what `mounts` puts there.
        private func run(_ script: String, in scene: Scene, mounts: String = "") async throws -> ProgramResult
        {
            let inner = "mount -t tmpfs none /run && \(mounts)\n\(script)"
            let file = try scene.agent.home.write(inner, to: "script")
            return try await scene.agent.shell("unshare -m sh -e '\(file)'")
        }

        private static let login =
            "echo alice-password | tokenctl login work --username alice --password-stdin >/dev/null"

        @Test(.enabled(if: canMount, "only root can take the system's log away"))
        func `without journal and syslog it is a file in the state directory`() async throws {
            let scene = try await Scene()
            let withoutSyslog = "mount --bind /dev/null \"$(readlink -f /dev/log)\" 2>/dev/null || true"
            let result = try await run(
                "tokenagent -s >/dev/null\n\(Self.login)\ntokenctl refresh work\ntokenctl lock\ntokenagent -k >/dev/null",
                in: scene,
                mounts: withoutSyslog
            )
            #expect(result.status == 0, "\(result)")
            #expect(result.standardError.isEmpty, "\(result.standardError)")
            let path = scene.agent.statePath + "/agent.log"
            let lines = (File.text(path) ?? "").split(separator: "\n").map(String.init)
            for words in [
                "notice: ready", "notice: logged in session=work", "reason=person session=work",
                "notice: locked",
                "notice: stopping",
            ] {
                #expect(lines.contains { $0.contains(words) }, "\(words) is not in \(lines)")
            }
            #expect(!lines.contains { $0.contains("alice") })
            #expect(File.mode(path) == 0o600)
        }

        @Test(.enabled(if: canMount, "only root can put a journal in place"))
        func `it is the system's journal where there is one`() async throws {
            let scene = try await Scene()
            let directory = try TemporaryDirectory()
            try directory.makeDirectory("journal")
            let journal = try DatagramReceiver(at: directory.path("journal/socket"))
            let result = try await run(
                "tokenagent -s >/dev/null\n\(Self.login)\ntokenagent -k >/dev/null",
                in: scene,
                mounts: "mkdir /run/systemd && mount --bind '\(directory.path)' /run/systemd"
            )
            #expect(result.status == 0, "\(result)")
            let messages = journal.messages()
            let login = try #require(messages.first { $0.contains("logged in session=work") })
            let fields = login.split(separator: "\n").map(String.init)
            #expect(fields.first == "MESSAGE=notice: logged in session=work")
            #expect(fields.contains("PRIORITY=5") && fields.contains("SYSLOG_IDENTIFIER=tokenagent"))
            #expect(!File.exists(scene.agent.statePath + "/agent.log"))
        }

        @Test(.enabled(if: canMount, "only root can put a syslog in place"))
        func `it is syslog where there is no journal`() async throws {
            let scene = try await Scene()
            let directory = try TemporaryDirectory()
            let syslog = try DatagramReceiver(at: directory.path("socket"))
            try directory.makeDirectory("dev")
            let dev = directory.path("dev")
            let devices = "null zero full random urandom tty"
            let mounts = """
                mount -t tmpfs none '\(dev)'
                for name in \(devices); do touch "\(dev)/$name"; mount --bind "/dev/$name" "\(dev)/$name"; done
                ln -s '\(directory.path("socket"))' '\(dev)/log'
                mount --rbind '\(dev)' /dev
                """
            let result = try await run(
                "tokenagent -s >/dev/null\n\(Self.login)\ntokenagent -k >/dev/null",
                in: scene,
                mounts: mounts
            )
            #expect(result.status == 0, "\(result)")
            let login = try #require(syslog.messages().first { $0.contains("logged in session=work") })
            // Facility daemon, severity notice (RFC 3164 §4.1.1).
            #expect(login.hasPrefix("<29>") && login.contains(" tokenagent["), "\(login)")
            #expect(!File.exists(scene.agent.statePath + "/agent.log"))
        }

        @Test func `the level is the configuration's, and follows a reload`() async throws {
            let scene = try await Scene(more: "[agent]\nlog_level = \"error\"")
            try await scene.agent.start()
            try await scene.logIn()
            #expect(!scene.agent.log.contains("logged in"))
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("\"error\"", with: "\"notice\""))
            let reload = try await scene.agent.tokenctl("reload")
            #expect(reload.standardOutput.contains("changed  agent.log_level"), "\(reload)")
            try await scene.logIn()
            #expect(try await Polling.until { scene.agent.log.contains("notice: logged in session=work") })
        }
    }
}
