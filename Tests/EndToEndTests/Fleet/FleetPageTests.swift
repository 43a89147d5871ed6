// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// The procedures of tokenagent-fleet(7), carried out with etcd's own programs.
    @Suite(.full, .enabled(if: FleetPage.isPossible, "etcd or openssl is not installed"), .serialized)
    struct FleetPageTests {
        private let page: FleetPage

        init() throws {
            page = try FleetPage()
        }

        /// The first four steps.
        private func setUp() async throws -> [Program] {
            let made = try await page.run(page.example("$ umask 077\n$ tokenctl fleet init"))
            let prefix = try #require(made.firstMatch(of: #/that begin with (/tokenagent/[0-9a-f]{32}/)\n/#))
            try page.agent.home.write(String(prefix.1), to: "prefix")
            try await page.run(page.example("umask 077\nkey="))
            try await page.run(page.example("for n in 1 2 3; do\n    tar"))
            try await page.run(page.example("for n in 1 2 3; do\n    ssh root"))
            let started = File.text(page.agent.home.path("systemctl.log")) ?? ""
            let words = "stop etcd\nenable etcd\nstart --no-block etcd\n"
            #expect(started == words + words + words)
            let members = try await page.members()
            try await page.run(page.example("export ETCDCTL_API=3 ETCDCTL_CACERT"))
            try await page.run(page.example("umask 077\nexport ETCDCTL_API"))
            return members
        }

        /// Kills the members, because their data is no longer needed.
        private func end(_ members: [Program]) async throws {
            for member in members { member.signal(.kill) }
            for member in members { _ = try await member.finish() }
        }

        /// Returns a token of etcd for this user, obtained in the same way as by the agent.
        private func token(of user: String) async throws -> String {
            let password = try #require(File.text(page.agent.home.path("\(user).password")))
            let body = #"{"name":"\#(user)","password":"\#(password.split(separator: "\n").first ?? "")"}"#
            let answer = try JSONValue(parsing: try await page.ask("auth/authenticate", body).utf8)
            return try #require(answer.object?["token"]?.string, "\(answer.text)")
        }

        @Test(.holds("269")) func `three hosts have what the page gives them, and a backup brings it back`()
            async throws
        {
            let members = try await setUp()
            // A keeper writes below the fleet's prefix and nowhere else; a reader reads there.
            let key = page.prefix + "s/x"
            #expect(try await page.run(as: "host1", "etcdctl put \(key) tokens").status == 0)
            #expect(try await page.run(as: "host1", "etcdctl put /other tokens").status != 0)
            #expect(
                try await page.run(as: "host3", "etcdctl get \(key)").standardOutput == "\(key)\ntokens\n"
            )
            #expect(try await page.run(as: "host3", "etcdctl put \(key) forged").status != 0)
            // The same through the gateway.
            let name = Base64.encoded(Array(key.utf8))
            for user in ["host2", "host3"] {
                let read = try await page.ask("kv/range", #"{"key":"\#(name)"}"#, token: token(of: user))
                #expect(read.contains(Base64.encoded(Array("tokens".utf8))), "\(read)")
            }
            try await hostsAreGiven()
            let saved = try await page.run(
                as: "root",
                page.example("$ ETCDCTL_USER=root:$(cat root.password) etcdctl snapshot")
            )
            #expect(saved.status == 0, "\(saved)")
            #expect(try await page.run(as: "host1", "etcdctl put \(key) later").status == 0)
            let cluster = try await cluster()
            try await end(members)
            for host in 1...3 {
                let restore = try page.example("etcdctl snapshot restore", host: host)
                try await page.run("mv data\(host) old\(host)\n" + restore)
            }
            let restored = try await page.members(1...3) { $0.replacing("build-1", with: "build-2") }
            let read = try await page.run(as: "host2", "etcdctl get \(key)")
            #expect(read.standardOutput == "\(key)\ntokens\n", "\(read)")
            #expect(try await self.cluster() != cluster, "hosts notice a restore by it")
            try await removed(host: 3, from: restored)
            try await end(restored)
        }

        /// Each host has its own password, and the key of its role.
        private func hostsAreGiven() async throws {
            try await page.run(page.example("for n in 1 2 3; do\n    ssh host"))
            let common = ["ca.pem", "etcd.password", "host.key", "host.pem"]
            for (host, key) in [(1, "fleet.key"), (2, "fleet.key"), (3, "fleet.key.reader")] {
                let listed = try await page.run("ls host\(host)").split(separator: "\n").map(String.init)
                #expect(listed == (common + [key]).sorted())
                for name in ["etcd.password", "host.key", key] {
                    #expect(File.mode(page.agent.home.path("host\(host)/\(name)")) == 0o600)
                }
            }
        }

        private func cluster() async throws -> String {
            let answer = try JSONValue(
                parsing: try await page.ask("maintenance/status", "{}", token: token(of: "root")).utf8
            )
            return try #require(answer.object?["header"]?.object?["cluster_id"]?.string, "\(answer.text)")
        }

        /// Removes a host's user.
        ///
        /// Its requests are rejected, but an open watch continues until the member is restarted.
        private func removed(host: Int, from members: [Program]) async throws {
            let key = page.prefix + "s/x"
            let open = try await token(of: "host\(host)")
            let watch = try page.watch(key, token: open)
            _ = try await watch.outputLine(containing: "\"created\":true")
            let command = try page.example("$ ETCDCTL_USER=root:$(cat root.password) etcdctl user delete")
            #expect(try await page.run(as: "root", command).status == 0)
            let name = Base64.encoded(Array(key.utf8))
            let refused = try await page.ask("kv/range", #"{"key":"\#(name)"}"#, token: open)
            #expect(refused.contains("\"error\""), "\(refused)")
            #expect(try await page.run(as: "host1", "etcdctl put \(key) sealed").status == 0)
            _ = try await watch.outputLine(containing: Base64.encoded(Array("sealed".utf8)))
            #expect(watch.exitStatus == nil)
            members[1].signal(.terminate)
            try await watch.finish()
        }

        @Test(.holds("269")) func `a certificate with a common name does what the page warns of`()
            async throws
        {
            let members = try await setUp()
            let certify = """
                openssl req -x509 -CA ca.pem -CAkey ca.key -extensions usr_cert -newkey ec \
                -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=root \
                -addext extendedKeyUsage=clientAuth -keyout root.key -out root.pem
                """
            try await page.run(certify)
            // Each member's gateway refuses it once that member knows of authentication, which one may learn later.
            let isRefused = try await Polling.until {
                try await page.ask(
                    "auth/authenticate",
                    #"{"name":"x","password":"x"}"#,
                    certificate: "root"
                )
                .contains("CommonName of client sending a request against gateway will be ignored")
            }
            #expect(isRefused)
            let users = try await page.run(
                as: "root",
                "unset ETCDCTL_USER; ETCDCTL_CERT=root.pem ETCDCTL_KEY=root.key etcdctl user list"
            )
            #expect(users.standardOutput.contains("host1\n"), "\(users)")
            try await end(members)
        }

        @Test(.holds("269")) func `a member's certificate for servers alone does what the page warns of`()
            async throws
        {
            try await page.run(
                page.example("umask 077\nkey=").replacing("serverAuth,clientAuth", with: "serverAuth")
            )
            try await page.run("cp -p ca.pem etcd?.pem etcd?.key etc/")
            // Members could not connect to each other, so there is only one.
            let cluster = "ETCD_INITIAL_CLUSTER=etcd2=https://\(page.address(of: 2)):2380"
            let members = try await page.members(2...2) { settings in
                settings.split(separator: "\n").map { $0.contains("etcd1=") ? cluster : String($0) }
                    .joined(separator: "\n")
            }
            let answer = try await page.ask("kv/range", #"{"key":"eA=="}"#)
            #expect(answer.contains("\"code\":14"), "\(answer)")
            try await end(members)
        }
    }
}
