// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Guarantees for sessions, each tested with every ``RenewedKind``.
    @Suite(.full) struct RenewedKindTests {
        /// The number of concurrent requests.
        private let crowd = 200
        /// The number of times the agent is killed.
        private let kills = 3

        @Test(.holds("210"), arguments: RenewedKind.allCases)
        func `a crowd that finds no token is served by one request`(kind: RenewedKind) async throws {
            let scene = try await RenewedScene(kind)
            scene.issuer.settings.delay = .milliseconds(200)
            try await scene.begin()
            let socket = scene.agent.socket
            let given = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<crowd {
                    group.addTask {
                        let answer = try await socket.request("GET", kind.path).json
                        return (answer?["access_token"] ?? answer?["SecretAccessKey"])?.string
                    }
                }
                return try await group.reduce(into: [String?]()) { $0.append($1) }
            }
            #expect(given.count == crowd && Set(given).count == 1 && given[0] != nil, "\(scene.agent.log)")
            #expect(scene.fetches == kind.firstFetches)
            Attachment.record("\(kind.rawValue): \(crowd) gets, \(scene.fetches) requests", named: "figure")
        }

        @Test(.holds("210"), arguments: RenewedKind.allCases)
        func `what was given out is there after kill -9, without the network`(
            kind: RenewedKind
        ) async throws {
            let scene = try await RenewedScene(kind)
            try await scene.begin()
            var last = ""
            for _ in 0..<kills {
                let refresh = try await scene.agent.tokenctl("refresh", "made")
                #expect(refresh.status == 0, "\(refresh) \(scene.agent.log)")
                let given = try await scene.credential()
                #expect(given != last)
                try await scene.agent.kill()
                await scene.issuer.stopListening()
                try scene.fail(.busy)
                let (fetches, connections) = (scene.fetches, scene.issuer.acceptedConnections)
                try await scene.agent.start()
                #expect(try await scene.credential() == given)
                #expect(scene.fetches == fetches && scene.issuer.acceptedConnections == connections)
                try scene.mend()
                try await scene.issuer.listen()
                last = given
            }
        }

        @Test(.holds("210"), arguments: RenewedKind.allCases)
        func `a locked agent gives nothing of it, and the same again once it is unlocked`(
            kind: RenewedKind
        ) async throws {
            let scene = try await RenewedScene(kind)
            try await scene.begin()
            let given = try await scene.credential()
            let fetches = scene.fetches
            #expect(try await scene.agent.tokenctl("lock").status == 0)
            let locked = try await scene.get()
            #expect(locked.status == 6 && locked.complainsInOneLine, "\(locked)")
            #expect(locked.standardOutput.isEmpty)
            #expect(try await scene.agent.socket.request("GET", kind.path).status == 423)
            #expect(try await scene.agent.tokenctl("refresh", "made").status == 6)
            #expect(try await scene.agent.tokenctl("unlock").status == 0)
            #expect(try await scene.credential() == given)
            #expect(scene.fetches == fetches)
        }

        @Test(.holds("210"), arguments: RenewedKind.allCases)
        func `whom its rules do not name learns nothing of it`(kind: RenewedKind) async throws {
            let scene = try await RenewedScene(kind, more: #"allow = [{ exe = "/usr/bin/true" }]"#)
            try await scene.agent.start()
            for command in [kind == .role ? "aws" : "get", "refresh", "status", "logout"] {
                let result = try await scene.agent.tokenctl(command, "made")
                #expect(result.status == 7 && result.complainsInOneLine, "\(command) \(result)")
            }
            let list = try await scene.agent.tokenctl("list", "--json")
            #expect(list.status == 0 && !list.standardOutput.contains(#""made""#), "\(list)")
            let audit = try await scene.agent.tokenctl("audit", "--json")
            #expect(!audit.standardOutput.contains(#""session":"made","decision":"served""#), "\(audit)")
        }

        @Test(.holds("210"), arguments: RenewedKind.allCases)
        func `the audit log names it, and what it is made from`(kind: RenewedKind) async throws {
            let scene = try await RenewedScene(kind)
            try await scene.begin()
            let given = try await scene.credential()
            let audit = try await scene.agent.tokenctl("audit", "made", "--json")
            let line = audit.standardOutput.split(separator: "\n").last.map(String.init) ?? ""
            let record = try JSONValue(parsing: line.utf8).object
            #expect(record?["session"] == "made" && record?["decision"] == "served", "\(audit)")
            #expect(record?["source"]?.string == kind.source, "\(audit)")
            #expect(record?["pid"]?.integer != nil, "\(audit)")
            for secret in given.split(whereSeparator: { "\"\n:,".contains($0) }) where secret.count > 20 {
                #expect(!audit.standardOutput.contains(secret) && !scene.agent.log.contains(secret))
            }
        }

        @Test(.holds("210"), arguments: RenewedKind.allCases)
        func `trouble at the other end is status 5, and what there is is served meanwhile`(
            kind: RenewedKind
        ) async throws {
            let scene = try await RenewedScene(kind)
            try await scene.begin()
            let given = try await scene.credential()
            try scene.fail(.busy)
            let failed = try await scene.agent.tokenctl("refresh", "made")
            #expect(failed.status == 5 && failed.complainsInOneLine, "\(failed)")
            #expect(try await scene.credential() == given)
            try scene.mend()
            #expect(
                try await Polling.until { try await scene.agent.tokenctl("refresh", "made").status == 0 }
            )
            #expect(try await scene.credential() != given)
        }

        /// Programs and registered clients are excluded, because their failures are no configuration errors.
        @Test(.holds("210"), arguments: RenewedKind.allCases.filter { $0 != .command && $0 != .resource })
        func `what the other end calls a mistake of the configuration is status 2`(
            kind: RenewedKind
        ) async throws {
            let scene = try await RenewedScene(kind)
            try scene.fail(.refusal)
            try await scene.begin()
            let refused = try await scene.get()
            // A client that is not known may be one at a server that is being restarted: it is tried for ten minutes.
            let isOfClient = kind == .clientKey || kind == .clientCertificate
            #expect(refused.status == (isOfClient ? 5 : 2) && refused.complainsInOneLine, "\(refused)")
            if kind.source != nil { #expect(try await scene.agent.tokenctl("get", "work").status == 0) }
            try scene.mend()
            #expect(
                try await Polling.until { try await scene.agent.tokenctl("refresh", "made").status == 0 },
                "\(scene.agent.log)"
            )
            _ = try await scene.credential()
        }

        @Test(.holds("210"), arguments: RenewedKind.allCases.filter { $0.source != nil })
        func `without a login at its source the status is 4, with the command that helps`(
            kind: RenewedKind
        ) async throws {
            let scene = try await RenewedScene(kind)
            try await scene.agent.start()
            for result in [try await scene.get(), try await scene.agent.tokenctl("refresh", "made")] {
                #expect(result.status == 4 && result.complainsInOneLine, "\(result)")
                #expect(result.standardError.contains("tokenctl login work"), "\(result)")
            }
            #expect(scene.fetches == 0)
            try await scene.logIn()
            #expect(try await scene.agent.reaches("ready", "made"))
            _ = try await scene.credential()
        }
    }
}
