// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies for a fleet whose hosts, or the proxy between them and etcd, are not as they should be.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetHostRemedyTests {
        /// Changes the table `[fleet]` of `host`, and restarts it as a remedy says.
        private func change(_ host: AgentUnderTest, _ old: String, to new: String) async throws {
            let text = try #require(File.text(host.configurationPath))
            try #require(text.contains(old))
            try await host.end()
            try host.configure(text.replacing(old, with: new))
            try await host.start()
        }

        /// Restarts `host`, so that it reaches etcd through a gateway.
        private func connect(
            _ host: AgentUnderTest,
            of scene: FleetScene,
            changing change: @escaping @Sendable (String) -> String = { $0 },
            withholding withholds: @escaping @Sendable () -> Bool = { false }
        ) async throws -> WithholdingGateway {
            let endpoints = try await scene.status(at: host)["etcd"]?.array
            let etcd = try #require(endpoints?.first?.object?["endpoint"]?.string)
            let gateway = try WithholdingGateway(before: etcd, changing: change, withholding: withholds)
            try await self.change(host, etcd, to: gateway.address)
            return gateway
        }

        /// Expects that the doctor says `words` at `host` until `isRepaired` is set.
        private func expect(
            _ words: String,
            of host: AgentUnderTest,
            until isRepaired: borrowing Atomic<Bool>
        ) async throws {
            for isTold in [true, false] {
                let changes = try await Polling.until(within: .seconds(60)) {
                    let doctor = try await host.tokenctl("doctor")
                    return (PrintedRemedy(doctor, holding: words) != nil) == isTold
                }
                #expect(changes, "\(isTold): \(host.log)")
                isRepaired.store(true, ordering: .relaxed)
            }
        }

        private final class Mark: Sendable {
            let isRepaired = Atomic(false)
            var value: Bool { isRepaired.load(ordering: .relaxed) }
        }

        @Test(arguments: [
            ("", "the proxy in front of etcd to pass the Date header"),
            ("Date: Thu, 01 Jan 2026 00:00:00 GMT", "the clock of this host or of etcd's hosts with NTP"),
        ])
        func `a proxy that passes on etcd's clock makes it right`(field: String, words: String) async throws {
            try await FleetScene.whileRunning(keepers: 1) { scene in
                let mark = Mark()
                let gateway = try await connect(
                    scene.keepers[0],
                    of: scene,
                    changing: { text in
                        guard !mark.value else { return text }
                        return text.replacing(#/Date: [^\r]*/#, with: field.isEmpty ? "X-Date: none" : field)
                    }
                )
                try await expect(words, of: scene.keepers[0], until: mark.isRepaired)
                withExtendedLifetime(gateway) {}
            }
        }

        @Test func `a proxy that passes on what it held back delays nothing more`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let mark = Mark()
                let gateway = try await connect(other, of: scene, withholding: { !mark.value })
                try await scene.logIn(at: one)
                let words = "the proxy in front of etcd to pass on /v3/watch without buffering"
                try await expect(words, of: other, until: mark.isRepaired)
                #expect(try await scene.commonToken() != nil)
                withExtendedLifetime(gateway) {}
            }
        }

        @Test func `of two hosts with one name the number says which is meant`() async throws {
            try await FleetScene.whileRunning(keepers: 3) { scene in
                let host = scene.keepers[0]
                try await scene.logIn(at: host)
                try await change(scene.keepers[2], "host = \"keeper2\"", to: "host = \"keeper1\"")
                func numbers() async throws -> [String] {
                    let hosts = try await scene.status(at: host)["hosts"]?.array?.compactMap(\.object) ?? []
                    return hosts.filter { $0["host"] == "keeper1" }.compactMap { $0["id"]?.string }
                }
                #expect(try await Polling.until { try await numbers().count == 2 })
                let refused = try await host.tokenctl("fleet", "remove", "keeper1")
                let words = "with the host's number, which tokenctl fleet status shows"
                #expect(PrintedRemedy(refused, holding: words) != nil, "\(refused)")
                try await scene.keepers[2].end()
                let status = try await host.tokenctl("fleet", "status").standardOutput
                let number = try #require(try await numbers().first { status.contains($0) }, "\(status)")
                let removed = try await host.tokenctl("fleet", "remove", number)
                #expect(removed.status == 0, "\(removed)")
                let shown = try #require(
                    PrintedRemedy(removed, holding: "tokenctl fleet status"),
                    "\(removed)"
                )
                #expect(
                    PrintedRemedy(removed, holding: "Removing a host in tokenagent-fleet(7)") != nil,
                    "\(removed)"
                )
                let after = try await host.shell(shown.text)
                #expect(after.status == 0 && !after.standardOutput.contains(number), "\(after)")
                try await scene.keepers[2].start()
            }
        }

        @Test func `a host is named as the list has it, and leaves by itself`() async throws {
            try await FleetScene.whileRunning { scene in
                let host = scene.keepers[0]
                for name in ["", "nobody"] {
                    let refused = try await host.tokenctl("fleet", "remove", name)
                    let remedy = PrintedRemedy(refused, holding: "tokenctl fleet status")
                    let shown = try await host.shell(try #require(remedy, "\(refused)").text)
                    #expect(shown.status == 0 && shown.standardOutput.contains("keeper1"), "\(shown)")
                }
                #expect(try await host.tokenctl("fleet", "remove", "keeper1").status == 0)
                let itself = try await host.tokenctl("fleet", "remove", "keeper0")
                let remedy = try #require(PrintedRemedy(itself, holding: "tokenctl fleet leave"), "\(itself)")
                #expect(try await host.shell(remedy.text).status == 0)
                let hosts = try await scene.status(at: scene.keepers[1])["hosts"]?.array?.compactMap(\.object)
                #expect(hosts?.contains { $0["host"] == "keeper0" } == false, "\(hosts ?? [])")
            }
        }

        @Test func `a reader with an answer that only it has becomes a keeper again`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let token = try await scene.refreshWithoutEtcd(at: other)
                let keeper = "role = \"keeper\""
                let file = "\"\(scene.work.path("key"))\""
                let text = try #require(File.text(other.configurationPath))
                try await other.end()
                let reader = text.replacing(keeper, with: "role = \"reader\"")
                try other.configure(reader.replacing(file, with: "\"\(scene.work.path("key.reader"))\""))
                try await scene.etcd("up", "n1")
                try await other.start()
                let words = "role = \"keeper\" in [fleet] with the keepers' file, then run"
                let leave = try await other.tokenctl("fleet", "leave", "work")
                #expect(leave.status == 5 && PrintedRemedy(leave, holding: words) != nil, "\(leave)")
                let status = try await other.tokenctl("status", "work")
                #expect(PrintedRemedy(status, holding: words) != nil, "\(status)")
                try await other.end()
                try other.configure(text)
                try await other.start()
                #expect(try await scene.commonToken(besides: token) != nil, "\(one.log) \(other.log)")
                let after = try await other.tokenctl("status", "work")
                #expect(PrintedRemedy(after, holding: words) == nil, "\(after)")
                #expect(try await other.tokenctl("fleet", "leave", "work").status == 0)
            }
        }

        @Test func `a host leaves once etcd responds again`() async throws {
            try await FleetScene.whileRunning { scene in
                let (one, other) = (scene.keepers[0], scene.keepers[1])
                let token = try await scene.refreshWithoutEtcd(at: other, by: "pause")
                let refused = try await other.tokenctl("logout", "work", "--local")
                #expect(refused.status == 5, "\(refused)")
                #expect(PrintedRemedy(refused, holding: "when etcd is reachable") != nil, "\(refused)")
                try await scene.etcd("resume", "n1")
                #expect(try await scene.commonToken(of: [one], besides: token) != nil, "\(other.log)")
                #expect(try await other.tokenctl("logout", "work", "--local").status == 0)
            }
        }

        @Test func `what a reader cannot read is repaired at a keeper`() async throws {
            try await FleetScene.whileRunning(keepers: 1, readers: 1) { scene in
                let (keeper, reader) = (scene.keepers[0], scene.readers[0])
                try await scene.logIn(at: keeper)
                _ = try #require(try await scene.commonToken())
                let keys = try await scene.etcd("ctl", "get", "--prefix", "/tokenagent/", "--keys-only")
                func spoil(_ kind: String) async throws {
                    let key = try #require(keys.split(separator: "\n").first { $0.hasSuffix("/\(kind)") })
                    try await scene.etcd("ctl", "put", String(key), "garbage")
                }
                func isTold(_ words: String, at host: AgentUnderTest) async throws -> Bool {
                    try await PrintedRemedy(host.tokenctl("fleet", "status"), holding: words) != nil
                }
                let elsewhere = "after tokenctl fleet repair work at a host with role = \"keeper\""
                // A keeper writes by itself what only readers need.
                try await keeper.end()
                for kind in ["at", "rt"] { try await spoil(kind) }
                #expect(try await Polling.until { try await isTold(elsewhere, at: reader) }, "\(reader.log)")
                try await keeper.start()
                #expect(
                    try await Polling.until { try await isTold("tokenctl fleet repair work", at: keeper) }
                )
                #expect(try await keeper.shell("tokenctl fleet repair work").status == 0)
                let isRepaired = try await Polling.until {
                    try await scene.record(at: reader)?["state"]?.string == "live"
                }
                #expect(isRepaired, "\(reader.log)")
                let told = (
                    try await isTold(elsewhere, at: reader), try await isTold("fleet repair", at: keeper)
                )
                #expect(told == (false, false))
            }
        }
    }

    /// A host that is in no fleet yet.
    @Suite struct FirstFleetRemedyTests {
        @Test func `a host that is in no fleet gets one as the page says`() async throws {
            let agent = try AgentUnderTest()
            try await agent.start()
            let refused = try await agent.tokenctl("fleet", "status")
            #expect(PrintedRemedy(refused, holding: "See: tokenagent-fleet(7)") != nil, "\(refused)")
            // The page's first step prints the table.
            let file = agent.home.path("fleet.key")
            let made = try await agent.tokenctl("fleet", "init", "--name", "team", "--key-file", file)
            let lines = made.standardOutput.split(separator: "\n")
            let table = lines.drop { !$0.hasSuffix("[fleet]") }.prefix { $0.hasPrefix("   ") }.prefix(5)
            try await agent.end()
            try agent.configure(table.joined(separator: "\n") + "\n")
            try await agent.start()
            let after = try await agent.tokenctl("fleet", "status")
            #expect(after.standardOutput.contains("fleet team, this host is"), "\(after)")
            #expect(PrintedRemedy(after, holding: "tokenagent-fleet(7)") == nil, "\(after)")
            try await agent.end()
        }
    }
}
