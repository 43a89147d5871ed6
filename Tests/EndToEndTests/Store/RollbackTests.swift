// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// A copy of the whole store put back, with a counter outside of it and without.
    @Suite struct RollbackTests {
        /// A scene with a counter that is a file outside of the store; its agent is not started.
        private func scene() async throws -> Scene {
            let scene = try await Scene()
            try scene.makeCounter(at: 0)
            try scene.configureCounter()
            return scene
        }

        @Test(.holds("45")) func `an older copy of the whole store is refused, and the latest one opens`()
            async throws
        {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            #expect(try await scene.agent.end() == 0)
            let kept = try #require(scene.counter)
            try await scene.copyStore(to: "older")
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            let token = try await scene.token()
            // The copy may be one ahead of the counter.
            try await scene.moveCounter(past: kept + 1) { scene.counter }
            #expect(try await scene.agent.end() == 0)
            try await scene.copyStore(to: "latest")

            try await scene.putBackStore("older")
            try await scene.agent.start()
            try await scene.expectRefusal(saying: "old copy")
            #expect(try await scene.agent.end() == 0)
            #expect(try await scene.storeIs("older"), "a refusal changed the store")

            try await scene.putBackStore("latest")
            try await scene.agent.start()
            #expect(try await scene.token() == token)
        }

        @Test(.holds("45")) func `without a counter an older copy opens`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            #expect(try await scene.agent.end() == 0)
            try await scene.copyStore(to: "older")
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("refresh", "work").status == 0)
            #expect(try await scene.agent.end() == 0)
            try await scene.putBackStore("older")
            try await scene.agent.start()
            #expect(try await scene.token() == token)
        }

        @Test func `a logout moves the counter while the agent runs`() async throws {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            let before = try await scene.settledCounter()
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            #expect(try await Polling.until { (scene.counter ?? 0) > before })
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(try await scene.agent.tokenctl("get", "work").status == 4)
        }

        @Test(.holds("45")) func `kill -9 between the store and its counter costs nothing`() async throws {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            let token = try await scene.token()
            let before = try await scene.settledCounter()
            // The manifest is written with the next value, and the counter never gets there.
            try scene.breakCounter("increment) touch \"$0.asked\"; exec tail -f /dev/null;;")
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            #expect(try await Polling.until { File.exists(scene.agent.home.path("counter.asked")) })
            try await scene.agent.kill()
            #expect(scene.counter == before)
            try scene.repairCounter()
            try await scene.agent.start()
            #expect(try await scene.token() == token)
            #expect(try await Polling.until { (scene.counter ?? 0) > before })
        }

        @Test(.holds("45")) func `a program that hangs at a step delays neither a get nor a refresh`()
            async throws
        {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            _ = try await scene.settledCounter()
            try scene.breakCounter("increment) touch \"$0.asked\"; exec tail -f /dev/null;;")
            try await scene.logIn()
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            #expect(try await Polling.until { File.exists(scene.agent.home.path("counter.asked")) })
            try await scene.logIn()
            let token = try await scene.token()
            let refreshed = try await scene.agent.tokenctl("refresh", "work", within: .seconds(20))
            #expect(refreshed.status == 0)
            #expect(try await scene.token() != token)
        }

        static let failures = [
            ("exit 3", "exit status 3"), ("echo twelve", "decimal number"), ("true", "decimal number"),
            ("head -c 1048576 /dev/zero", "counter"), ("kill -9 $$", "exit status 137"),
        ]

        @Test(.holds("45"), arguments: failures)
        func `a counter that cannot be read keeps the store locked, and says why`(
            failure: String,
            reason: String
        ) async throws {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            #expect(try await scene.agent.end() == 0)
            try scene.breakCounter("*) \(failure); exit;;")
            try await scene.agent.start()
            try await scene.expectRefusal(saying: reason)
            try scene.repairCounter()
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.token().isEmpty == false)
        }

        @Test(.holds("45"), .full) func `a counter that hangs keeps the store locked after half a minute`()
            async throws
        {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            _ = try await scene.settledCounter()
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            try scene.breakCounter("read) exec tail -f /dev/null;;")
            let start = ContinuousClock.now
            let unlocking = try await scene.agent.tokenctl("unlock", within: .seconds(120))
            let duration = ContinuousClock.now - start
            #expect(unlocking.status == 1 && duration >= .seconds(29))
            #expect(unlocking.standardError.contains("counter"), "\(unlocking.standardError)")
            Attachment.record("given up after \(Int(duration / .seconds(1))) s", named: "figure")
            try scene.repairCounter()
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `a counter that fails at a step is told, and tried again`() async throws {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            _ = try await scene.settledCounter()
            try scene.breakCounter("increment) exit 3;;")
            #expect(try await scene.agent.tokenctl("logout", "work").status == 0)
            #expect(
                try await Polling.until {
                    scene.agent.log.contains("rollback counter failed")
                }
            )
            let doctor = try await scene.agent.tokenctl("doctor")
            #expect(doctor.standardOutput.contains("exit status 3"), "\(doctor.standardOutput)")
            try await scene.logIn()
            #expect(try await scene.token().isEmpty == false)
        }

        @Test func `a store with a counter needs it, until the person gives it up`() async throws {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            let token = try await scene.token()
            #expect(try await scene.agent.end() == 0)
            try scene.configureCounter(isOn: false)
            try await scene.agent.start()
            try await scene.expectRefusal(saying: "vault.rollback_counter is not set")
            let counter = try #require(scene.offeredNumber)
            #expect(try await scene.agent.end() == 0)
            try scene.configureCounter(isOn: false, accepting: counter)
            try await scene.agent.start()
            #expect(try await scene.token() == token)
            #expect(try await scene.agent.end() == 0)
            try scene.configureCounter(isOn: false)
            try await scene.agent.start()
            #expect(try await scene.token() == token)
        }

        @Test func `the person's word for a refused store counts once`() async throws {
            let scene = try await scene()
            try await scene.agent.start()
            try await scene.logIn()
            #expect(try await scene.agent.end() == 0)
            try await scene.copyStore(to: "older")
            let counter = try #require(scene.counter) + 10
            try scene.makeCounter(at: counter)
            try scene.configureCounter(accepting: counter)
            try await scene.agent.start()
            #expect(try await scene.token().isEmpty == false)
            #expect(scene.agent.log.contains("rollback counter accepted with value"))
            #expect(try await Polling.until { (scene.counter ?? 0) > counter })
            #expect(try await scene.agent.end() == 0)
            try await scene.putBackStore("older")
            try await scene.agent.start()
            try await scene.expectRefusal(saying: "old copy")
        }

        @Test func `a store that had no counter adopts one that never moved, and no other`() async throws {
            let scene = try await Scene.loggedIn()
            let token = try await scene.token()
            #expect(try await scene.agent.end() == 0)
            try await scene.copyStore(to: "older")
            try scene.makeCounter(at: 0)
            try scene.configureCounter()
            try await scene.agent.start()
            #expect(try await scene.token() == token)
            #expect(scene.agent.log.contains("rollback counter adopted"))
            #expect(try await Polling.until { (scene.counter ?? 0) > 0 })
            #expect(try await scene.agent.end() == 0)
            try await scene.putBackStore("older")
            try await scene.agent.start()
            try await scene.expectRefusal(saying: "may be an old copy")
        }
    }
}
