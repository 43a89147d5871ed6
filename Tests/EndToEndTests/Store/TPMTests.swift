// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    private static let isMissing: Comment = "swtpm or tpm2-tools is not installed"
    private static let canUseTPM = Program.succeeds("systemd-creds --help | grep -q -e --tpm2-device")

    /// A TPM as rollback counter and unlock method of the store.
    @Suite(.full, .enabled(if: SoftwareTPM.isAvailable, isMissing), .serialized) struct TPMTests {
        @Test(.holds("45")) func `a TPM's counter tells an older copy of the whole store`() async throws {
            let tpm = try await SoftwareTPM.start()
            try await tpm.counter("define")
            #expect(try await tpm.counter("read") == 0)
            let scene = try await Scene()
            try scene.configureCounter(command: tpm.counterCommand)
            try await scene.agent.start()
            try await scene.logIn()
            #expect(try await Polling.until { try await (tpm.counter("read") ?? 0) > 0 })
            #expect(try await scene.agent.end() == 0)
            let before = try #require(try await tpm.counter("read"))
            try await scene.copyStore(to: "older")
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let token = try await scene.token()
            // The copy may be one ahead of the counter.
            try await scene.moveCounter(past: before + 1) { try await tpm.counter("read") }
            #expect(try await scene.agent.end() == 0)
            try await scene.copyStore(to: "latest")

            try await scene.putBackStore("older")
            try await scene.agent.start()
            try await scene.expectRefusal(saying: "store is an old copy")
            #expect(try await scene.agent.end() == 0)
            #expect(try await scene.storeIs("older"))

            try await scene.putBackStore("latest")
            try await scene.agent.start()
            #expect(try await scene.token() == token)
            Attachment.record("\(try await stepDuration(tpm)) a step", named: "figure")
        }

        private func stepDuration(_ tpm: SoftwareTPM) async throws -> String {
            let clock = ContinuousClock()
            let duration = try await clock.measure {
                for _ in 0..<5 { try await tpm.counter("increment") }
            }
            return "\(Int(duration / .milliseconds(1)) / 5) ms"
        }

        @Test(.holds("45")) func `a TPM's counter that is removed and created again does not go back`()
            async throws
        {
            let tpm = try await SoftwareTPM.start()
            try await tpm.counter("define")
            for _ in 0..<5 { try await tpm.counter("increment") }
            let before = try #require(try await tpm.counter("read"))
            #expect(try await tpm.run(["tpm2_nvundefine", "-C", "o", SoftwareTPM.index]).status == 0)
            #expect(try await tpm.run(tpm.counterCommand + ["read"]).status != 0)
            try await tpm.counter("define")
            #expect(try #require(try await tpm.counter("increment")) > before)
        }

        @Test func `a TPM without that counter keeps the store locked, and says why`() async throws {
            let tpm = try await SoftwareTPM.start()
            let scene = try await Scene()
            try scene.configureCounter(command: tpm.counterCommand)
            try await scene.agent.start()
            try await scene.expectRefusal(saying: "tpm-rollback-counter")
            try await tpm.counter("define")
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            try await scene.logIn()
            #expect(try await Polling.until { try await (tpm.counter("read") ?? 0) > 0 })
        }

        @Test(.holds("51"), .enabled(if: canUseTPM, "this systemd-creds cannot name a TPM"))
        func `a credential sealed by a TPM opens the store, and no other TPM opens it`() async throws {
            let (tpm, other) = (try await SoftwareTPM.start(), try await SoftwareTPM.start())
            let scene = try await Scene()
            try scene.agent.home.write("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH", to: "key", mode: 0o600)
            let sealing = try await tpm.run([
                "systemd-creds", "--tpm2-device=\(tpm.address)", "--with-key=tpm2", "--name=tokenagent",
                "encrypt", scene.agent.home.path("key"), scene.agent.home.path("sealed"),
            ])
            try #require(sealing.status == 0, "\(sealing.standardError)")

            try await start(scene, tpm)
            let body = #"{"type":"systemd-cred"}"#
            let made = try await scene.agent.changeVault("POST", "init", body)
            try #require(made.status == 200, "\(made.text)")
            try await scene.logIn()
            let token = try await scene.token()
            #expect(try await scene.agent.end() == 0)

            try await start(scene, other)
            #expect(try await scene.agent.tokenctl("get", "work").status == 6)
            #expect(scene.agent.log.contains("credentials/tokenagent: No such file"), "\(scene.agent.log)")
            #expect(try await scene.agent.end() == 0)

            try await start(scene, tpm)
            #expect(try await scene.token() == token)
        }

        /// Starts the agent as a service manager does: it opens the sealed credential with the TPM, and hands it on.
        private func start(_ scene: Scene, _ tpm: SoftwareTPM) async throws {
            let script = """
                rm -rf "$CREDENTIALS_DIRECTORY" && mkdir -m 700 "$CREDENTIALS_DIRECTORY"
                systemd-creds --tpm2-device='\(tpm.address)' --name=tokenagent \\
                    decrypt "$HOME/sealed" "$CREDENTIALS_DIRECTORY/tokenagent"
                exec "$@"
                """
            try await scene.agent.start(
                extraEnvironment: ["CREDENTIALS_DIRECTORY": scene.agent.home.path("credentials")],
                wrapper: ["/bin/sh", "-c", script, "sh"]
            )
        }
    }
}
