// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// A fleet whose hosts get a new key while they wait for an answer.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetRekeyTests {
        /// The epochs of the keys that the intents in etcd are signed with.
        private func epochs(_ scene: FleetScene) async throws -> [Int] {
            let found = try await scene.etcd("ctl", "get", "--prefix", "/tokenagent/", "-w", "json")
            let pairs = try JSONValue(parsing: found.utf8).object?["kvs"]?.array ?? []
            return pairs.compactMap { pair in
                guard let value = pair.object?["value"]?.string.flatMap({ Base64.decoded($0) }),
                    value.count > 15
                else { return nil }
                // "TKAFLT\0", version, suite, kind, epoch.
                guard value[10] == 4 else { return nil }
                return value[11..<15].reversed().reduce(0) { $0 << 8 | Int($1) }
            }
        }

        @Test func `a request without an answer is waited for under a new key too, also after a repair`()
            async throws
        {
            try await FleetScene.whileRunning(keepers: 2, readers: 1) { scene in
                let (gone, host, reader) = (scene.keepers[0], scene.keepers[1], scene.readers[0])
                let (_, refresh) = try await scene.holdRefresh(at: gone)
                try await gone.kill()
                _ = await refresh.result
                let made = try await host.tokenctl("fleet", "rekey", "--key-file", scene.work.path("key"))
                #expect(made.status == 0, "\(made)")
                for restarted in [host, reader] {
                    try await restarted.end()
                    try await restarted.start()
                }
                // Once the lock's lease is over.
                let isRenewed = try await Polling.until(within: .seconds(120)) {
                    try await epochs(scene) == [2]
                }
                #expect(isRenewed, "\(host.log)")
                let repair = try await host.tokenctl("fleet", "repair", "work")
                #expect(repair.status == 0, "\(repair)")
                #expect(repair.standardOutput.contains("work: no host can refresh it for up to"), "\(repair)")
                #expect(repair.standardOutput.contains("the response to another host's refresh"), "\(repair)")
                let found = try await scene.record(at: host)
                #expect(found?["state"]?.string == "live" && found?["message"] == nil, "\(found ?? [:])")
                #expect(found?["attempt_by"]?.string == "keeper0", "\(found ?? [:])")
                // Readers and keepers report the cause.
                for waiting in [host, reader] {
                    let answer = try await waiting.tokenctl("refresh", "work", "--json")
                    #expect(answer.status == 5, "\(answer)")
                    let text = answer.standardOutput + answer.standardError
                    #expect(text.contains("the response to another host's refresh"), "\(answer)")
                }
                #expect(scene.refreshes == 1)
                scene.issuer.release()
            }
        }

        @Test(.holds("267"))
        func `a key that was staged is used by one host after the other, and none is without it`()
            async throws
        {
            try await FleetScene.whileRunning(keepers: 2, readers: 1) { scene in
                let (first, second, reader) = (scene.keepers[0], scene.keepers[1], scene.readers[0])
                let key = scene.work.path("key")
                try await scene.logIn(at: first)
                let staged = try await first.tokenctl("fleet", "rekey", "--stage", "--key-file", key)
                try #require(staged.status == 0, "\(staged)")
                for host in scene.hosts {
                    try await host.end()
                    try await host.start()
                    #expect(try await first.tokenctl("refresh", "work").status == 0, "\(first.log)")
                    #expect(try await scene.commonToken() != nil)
                }
                let activated = try await first.tokenctl("fleet", "rekey", "--activate", "--key-file", key)
                try #require(activated.status == 0, "\(activated)")
                try await first.end()
                try await first.start()
                let former = try #require(try await scene.commonToken())
                #expect(try await first.tokenctl("refresh", "work").status == 0, "\(first.log)")
                let next = try #require(try await scene.commonToken(besides: former), "\(second.log)")
                // Nobody else was restarted.
                #expect(try await second.tokenctl("refresh", "work").status == 0, "\(second.log)")
                #expect(try await scene.commonToken(besides: next) != nil, "\(reader.log)")
                #expect(try await scene.record(at: first)?["message"] == nil)
            }
        }

        @Test func `a host without the new key says so at once, and serves what it has`() async throws {
            try await FleetScene.whileRunning { scene in
                let (renewed, left) = (scene.keepers[0], scene.keepers[1])
                try await scene.logIn(at: renewed)
                #expect(try await scene.commonToken() != nil)
                let made = try await renewed.tokenctl("fleet", "rekey", "--key-file", scene.work.path("key"))
                try #require(made.status == 0, "\(made)")
                try await renewed.end()
                try await renewed.start()
                // After the record has been sealed again.
                let isNoticed = try await Polling.until(within: .seconds(60)) {
                    try await left.tokenctl("refresh", "work").status == 2
                }
                #expect(isNoticed, "\(left.log)")
                let began = ContinuousClock.now
                for command in [["refresh", "work"], ["get", "work", "--min-valid=599s"]] {
                    // A token of its own last refresh may have all of its 600 seconds for a moment.
                    let answer = try await Polling.value(within: .seconds(10)) {
                        let result = try await left.tokenctl(command)
                        return result.status == 0 && command[0] == "get" ? nil : result
                    }
                    let refused = try #require(answer, "\(left.log)")
                    #expect(refused.status == 2, "\(command): \(refused)")
                    #expect(refused.standardError.contains("which this host does not have"), "\(refused)")
                    #expect(
                        refused.standardError.contains("the fleet's new key on this host"),
                        "\(refused)"
                    )
                }
                #expect(ContinuousClock.now - began < .seconds(20))
                #expect(try await scene.token(of: left) != nil, "\(left.log)")
                try await left.end()
                try await left.start()
                #expect(try await left.tokenctl("refresh", "work").status == 0, "\(left.log)")
            }
        }
    }
}
