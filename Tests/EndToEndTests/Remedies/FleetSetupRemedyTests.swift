// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

extension EndToEnd {
    /// Remedies for a host of a fleet that is set up incorrectly, each followed until the host works with etcd.
    @Suite(.full, .enabled(if: FleetScene.etcd.isAvailable)) struct FleetSetupRemedyTests {
        /// A mistake, and what its remedy says.
        ///
        /// The texts contain the names of ``Site/filled(_:_:)``.
        struct Mistake: Sendable {
            let name: String
            /// A part of the remedy.
            let remedy: String
            /// The wrong settings of `[fleet]` in place of the right ones; an empty one is left out.
            var wrong: [String: String] = [:]
            /// The settings that the remedy asks for, in place of the right ones.
            var corrected: [String: String] = [:]
            /// A shell script that spoils the host's files before its agent starts.
            var spoil = ""
            /// A shell script that does what the remedy says about files.
            var repair = ""
            /// A shell command that sets the variables of the agent that the remedy starts.
            var variables = ""
            /// A command that starts the agent.
            var wrapper = ""
            /// Arguments of the script that runs etcd.
            var order: [String] = []
        }

        /// An etcd, and the settings of a host that may use it.
        struct Site {
            let work: TemporaryDirectory
            let state: JSONObject
            let settings: [String: String]

            init(_ work: TemporaryDirectory, _ state: JSONObject) {
                self.work = work
                self.state = state
                var settings = [
                    "name": "\"team\"", "role": "\"keeper\"", "endpoints": "[\"ENDPOINT\"]",
                    "fleet_key_file": "\"HOME/fleet.key\"",
                ]
                if state["tls"] == true {
                    settings["ca_file"] = "\"TLS/ca.pem\""
                    settings["certificate_file"] = "\"TLS/client.pem\""
                    settings["certificate_key_file"] = "\"TLS/client.key\""
                }
                if state["auth"] == true {
                    settings["user"] = "\"keeper\""
                    settings["password_file"] = "\"HOME/password\""
                }
                self.settings = settings
            }

            /// Returns `text` with the addresses and directories of etcd and of the host.
            func filled(_ text: String, _ home: String) -> String {
                let member = state["nodes"]?.object?["n1"]?.object
                let peer = member?["peer"]?.integer ?? 0
                let client = member?["port"]?.integer ?? 0
                return text.replacing("ENDPOINT", with: member?["endpoint"]?.string ?? "")
                    .replacing("PEERPORT", with: "\(peer)").replacing("CLIENTPORT", with: "\(client)")
                    .replacing("TLS", with: work.path("etcd/tls")).replacing("HOME", with: home)
            }

            /// Returns the configuration of a host with other settings than the right ones.
            func configuration(_ changes: [String: String], _ home: String) -> String {
                let lines = settings.merging(changes) { $1 }.filter { !$0.value.isEmpty }
                    .map { "\($0.key) = \($0.value)\n" }.sorted().joined()
                return filled("[fleet]\n\(lines)", home) + """

                    [session.work]
                    kind = "oidc"
                    issuer = "https://id.example.com"
                    client_id = "client"
                    fleet = true

                    """
            }
        }

        private static let restart = ", then run tokenctl shutdown && tokenagent"

        private static let ofAddresses = [
            Mistake(
                name: "a port at which nobody listens",
                remedy: "fleet.endpoints to etcd's client port if etcd is running" + restart,
                wrong: ["endpoints": "[\"http://127.0.0.1:1\"]"]
            ),
            Mistake(
                name: "a host name that leads nowhere",
                remedy: "fleet.endpoints to a host name that this host can resolve" + restart,
                // No name service is asked for a label that is too long.
                wrong: ["endpoints": "[\"https://\(String(repeating: "a", count: 64)).invalid\"]"]
            ),
            Mistake(
                name: "https where etcd has none",
                remedy: "fleet.endpoints to http" + restart,
                wrong: ["endpoints": "[\"https://127.0.0.1:CLIENTPORT\"]"]
            ),
            Mistake(
                name: "the port of the members",
                remedy: "fleet.endpoints to etcd's client port, by default 2379" + restart,
                wrong: ["endpoints": "[\"http://127.0.0.1:PEERPORT\"]"]
            ),
        ]

        private static let ofKeys = [
            Mistake(
                name: "no key file",
                remedy: "the key file for this host's role at this path" + restart,
                spoil: "mv fleet.key kept",
                repair: "mv kept fleet.key"
            ),
            Mistake(
                name: "an empty key file",
                remedy: "the key file for this host's role at this path" + restart,
                spoil: "cp -p fleet.key kept; : >fleet.key",
                repair: "cp kept fleet.key"
            ),
            Mistake(
                name: "another file",
                remedy: "with the file that tokenctl fleet init or rekey wrote",
                spoil: "cp -p fleet.key kept; echo other >fleet.key",
                repair: "cp kept fleet.key"
            ),
            Mistake(
                name: "a key file that was cut",
                remedy: "with the file that tokenctl fleet init or rekey wrote",
                spoil: "cp -p fleet.key kept; truncate -s 100 fleet.key",
                repair: "cp kept fleet.key"
            ),
            Mistake(
                name: "a key file that others read",
                remedy: "the key to a plain file of the agent's user with mode 600",
                spoil: "chmod 644 fleet.key",
                repair: "chmod 600 fleet.key"
            ),
            Mistake(
                name: "a link to a key file",
                remedy: "the key to a plain file of the agent's user with mode 600",
                spoil: "mv fleet.key kept; ln -s kept fleet.key",
                repair: "mv kept fleet.key"
            ),
            Mistake(
                name: "a key file that the agent cannot read",
                remedy: "after making it readable for the agent",
                spoil: "chmod 200 fleet.key",
                repair: "chmod 600 fleet.key",
                wrapper: TestUser.isRoot ? "setpriv --bounding-set=-dac_override,-dac_read_search" : ""
            ),
            Mistake(
                name: "the keepers' key at a reader, which gets the readers'",
                remedy: "the readers' file, which ends in .reader, on this host, or",
                wrong: ["role": "\"reader\""],
                corrected: ["role": "\"reader\"", "fleet_key_file": "\"HOME/fleet.key.reader\""]
            ),
            Mistake(
                name: "the keepers' key at a reader, which becomes a keeper",
                remedy: "or fleet.role = \"keeper\"" + restart,
                wrong: ["role": "\"reader\""]
            ),
            Mistake(
                name: "the readers' key at a keeper, which gets the keepers'",
                remedy: "the keepers' file on this host, or",
                wrong: ["fleet_key_file": "\"HOME/fleet.key.reader\""]
            ),
            Mistake(
                name: "the readers' key at a keeper, which becomes a reader",
                remedy: "or fleet.role = \"reader\"" + restart,
                wrong: ["fleet_key_file": "\"HOME/fleet.key.reader\""],
                corrected: ["fleet_key_file": "\"HOME/fleet.key.reader\"", "role": "\"reader\""]
            ),
            Mistake(
                name: "the key of another fleet",
                remedy: "the key of fleet team on this host" + restart,
                wrong: ["fleet_key_file": "\"HOME/other.key\""]
            ),
            Mistake(
                name: "a credential that the unit does not load",
                remedy: "LoadCredential=key:FILE in the agent's unit, or fleet.fleet_key_file" + restart,
                wrong: ["fleet_key_file": "", "fleet_key_credential": "\"key\""]
            ),
            Mistake(
                name: "a credential that the unit loads then",
                remedy: "LoadCredential=key:FILE in the agent's unit, or fleet.fleet_key_file" + restart,
                wrong: ["fleet_key_file": "", "fleet_key_credential": "\"key\""],
                corrected: ["fleet_key_file": "", "fleet_key_credential": "\"key\""],
                repair: "mkdir -m 700 loaded && cp -p fleet.key loaded/key",
                variables: "export CREDENTIALS_DIRECTORY=\"$PWD/loaded\";"
            ),
            Mistake(
                name: "a command that prints no key",
                remedy: "fleet.fleet_key_command to a command that works for the agent's user" + restart,
                wrong: ["fleet_key_file": "", "fleet_key_command": "[\"/bin/false\"]"],
                corrected: ["fleet_key_file": "", "fleet_key_command": "[\"/bin/cat\", \"HOME/fleet.key\"]"]
            ),
        ]

        private static let ofUsers = [
            Mistake(
                name: "etcd without authentication",
                remedy: "etcdctl auth enable",
                order: ["ctl", "auth", "disable"]
            ),
            Mistake(
                name: "no user",
                remedy: "fleet.user, and fleet.password_file or fleet.password_command" + restart,
                wrong: ["user": "", "password_file": ""]
            ),
            Mistake(
                name: "another password",
                remedy: "fleet.user, and fleet.password_file or fleet.password_command" + restart,
                wrong: ["password_file": "\"HOME/wrong\""]
            ),
            Mistake(
                name: "no password file",
                remedy: "fleet.password_file to an existing file" + restart,
                wrong: ["password_file": "\"HOME/none\""]
            ),
            Mistake(
                name: "a command that prints no password",
                remedy: "fleet.password_command to a command that works for the agent's user" + restart,
                wrong: ["password_file": "", "password_command": "[\"/bin/false\"]"],
                corrected: ["password_file": "", "password_command": "[\"/bin/cat\", \"HOME/password\"]"]
            ),
            Mistake(
                name: "a user who may only read",
                remedy: "etcdctl role grant-permission ROLE readwrite --prefix=true /tokenagent/",
                wrong: ["user": "\"reader\"", "password_file": "\"HOME/reader\""],
                corrected: ["user": "\"reader\"", "password_file": "\"HOME/reader\""]
            ),
        ]

        private static let ofCertificates = [
            Mistake(
                name: "no authority",
                remedy: "fleet.ca_file to the PEM file of etcd's certificate authority" + restart,
                wrong: ["ca_file": ""]
            ),
            Mistake(
                name: "another file as the authority",
                remedy: "fleet.ca_file to the PEM file of etcd's certificate authority" + restart,
                wrong: ["ca_file": "\"HOME/wrong\""]
            ),
            Mistake(
                name: "a key of another certificate",
                remedy: "fleet.certificate_file and fleet.certificate_key_file to a PEM certificate",
                wrong: ["certificate_key_file": "\"TLS/stranger.key\""]
            ),
            Mistake(
                name: "another file as the key",
                remedy: "fleet.certificate_file and fleet.certificate_key_file to a PEM certificate",
                wrong: ["certificate_key_file": "\"HOME/wrong\""]
            ),
            Mistake(
                name: "a key with a passphrase",
                remedy: "and its key without passphrase" + restart,
                wrong: ["certificate_key_file": "\"HOME/closed.key\""],
                spoil: "umask 077; openssl pkcs8 -topk8 -in TLS/client.key -passout pass:x -out closed.key"
            ),
            Mistake(
                name: "no certificate of the host",
                remedy: "fleet.certificate_file and fleet.certificate_key_file" + restart,
                wrong: ["certificate_file": "", "certificate_key_file": ""]
            ),
            Mistake(
                name: "a certificate for servers alone",
                remedy:
                    "fleet.certificate_file to a clientAuth certificate signed by the CA in etcd's trusted-ca-file"
                    + restart,
                wrong: [
                    "certificate_file": "\"TLS/stranger.pem\"",
                    "certificate_key_file": "\"TLS/stranger.key\"",
                ]
            ),
            Mistake(
                name: "a certificate that has expired",
                remedy: "with a renewed certificate in fleet.certificate_file",
                wrong: ["certificate_file": "\"HOME/host.pem\""],
                corrected: ["certificate_file": "\"HOME/host.pem\""],
                spoil: """
                    openssl req -new -key TLS/client.key -subj '/O=host' -out host.csr && \
                    echo extendedKeyUsage=clientAuth >host.ext && \
                    openssl x509 -req -in host.csr -CA TLS/ca.pem -CAkey TLS/ca.key -CAcreateserial -days -1 \
                    -extfile host.ext -out host.pem
                    """,
                repair: "cp TLS/client.pem host.pem"
            ),
            Mistake(
                name: "a name that the certificate of the member does not have",
                remedy: "fleet.endpoints to a host name in the member's certificate" + restart,
                // The resolver takes it for 127.0.0.1.
                wrong: ["endpoints": "[\"https://127.1:CLIENTPORT\"]"]
            ),
            Mistake(
                name: "http where etcd has https",
                remedy: "fleet.endpoints to https" + restart,
                wrong: ["endpoints": "[\"http://127.0.0.1:CLIENTPORT\"]"]
            ),
            Mistake(
                name: "a certificate with a common name",
                remedy: "fleet.certificate_file to a client certificate without a CommonName" + restart,
                wrong: [
                    "certificate_file": "\"TLS/client_cn.pem\"",
                    "certificate_key_file": "\"TLS/client_cn.key\"",
                ]
            ),
        ]

        /// Makes the mistake, follows what `fleet status` says about it, and expects that the host works then.
        private func verify(_ mistake: Mistake, at site: Site) async throws {
            let agent = try AgentUnderTest()
            func shell(_ script: String) async throws {
                let result = try await agent.shell("cd; \(site.filled(script, agent.home.path))")
                try #require(result.status == 0, "\(mistake.name): \(script): \(result)")
            }
            try await shell(
                """
                umask 077
                for name in team other; do
                    tokenctl fleet init --name $name --key-file $name.key || exit
                done
                mv team.key fleet.key && mv team.key.reader fleet.key.reader
                printf keeper-password-1 >password; printf reader-password-1 >reader; printf guess >wrong
                """
            )
            try agent.configure(site.configuration(mistake.wrong, agent.home.path))
            if !mistake.spoil.isEmpty { try await shell(mistake.spoil) }
            try await order(mistake.order, at: site)
            try await shell("\(mistake.wrapper) tokenagent")
            // A host tries to enter itself into the list of hosts soon after its start.
            let before = try await Polling.value(within: .seconds(20)) {
                let status = try await agent.tokenctl("fleet", "status")
                return PrintedRemedy(status, holding: mistake.remedy)
            }
            let status = try await agent.tokenctl("fleet", "status")
            let found = try #require(before, "\(mistake.name): \(status)")
            try agent.configure(site.configuration(mistake.corrected, agent.home.path))
            if !mistake.repair.isEmpty { try await shell(mistake.repair) }
            if found.label == "run" {
                let words = found.text.split(separator: " ").map { $0 == "ROLE" ? "reader" : String($0) }
                try await order(["ctl"] + words.dropFirst(), at: site)
            } else if let command = found.command {
                try await shell("\(mistake.variables) \(command)")
            }
            var after = try await agent.tokenctl("fleet", "status")
            func isWorking() -> Bool {
                after.status == 0 && PrintedRemedy(after, holding: mistake.remedy) == nil
            }
            _ = try await Polling.until(within: .seconds(20)) {
                if !isWorking() { after = try await agent.tokenctl("fleet", "status") }
                return isWorking()
            }
            #expect(isWorking(), "\(mistake.name): \(after)")
            try await shell("tokenagent -k")
        }

        private func order(_ words: [String], at site: Site) async throws {
            guard !words.isEmpty else { return }
            let result = try await FleetScene.etcd.run([site.work.path] + words)
            try #require(result.status == 0, "\(words): \(result)")
        }

        @Test(arguments: [
            ([], ofAddresses), ([], ofKeys), (["--auth"], ofUsers), (["--tls", "--auth"], ofCertificates),
        ])
        func `a host that is set up incorrectly is corrected as it is said`(
            etcd: [String],
            mistakes: [Mistake]
        ) async throws {
            try await FleetScene.etcd.whileRunning(etcd) { work, state in
                for mistake in mistakes { try await verify(mistake, at: Site(work, state)) }
            }
        }

        @Test func `a member of another cluster is taken out of the endpoints`() async throws {
            try await FleetScene.etcd.whileRunning { _, other in
                try await FleetScene.etcd.whileRunning { work, state in
                    let stranger = try #require(other["base_url"]?.string)
                    let mistake = Mistake(
                        name: "two clusters",
                        remedy: "fleet.endpoints to members of one cluster" + Self.restart,
                        wrong: ["endpoints": "[\"ENDPOINT\", \"\(stranger)\"]"]
                    )
                    try await verify(mistake, at: Site(work, state))
                }
            }
        }

        @Test func `the members of etcd get certificates that are for clients too`() async throws {
            // The script leaves the certificates alone that are there.
            let work = try TemporaryDirectory()
            let made = try await FleetScene.etcd.start(in: work, ["--tls"])
            let agent = try AgentUnderTest()
            let tls = work.path("etcd/tls")
            func certify(_ usage: String) async throws {
                let result = try await agent.shell(
                    """
                    cd '\(tls)' && printf '%s\\n' 'subjectAltName=IP:127.0.0.1' 'extendedKeyUsage=\(usage)' >etcd.ext \
                    && openssl x509 -req -in etcd.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 \
                    -extfile etcd.ext -out etcd.pem
                    """
                )
                try #require(result.status == 0, "\(result)")
                for word in ["term", "up"] { try await FleetScene.etcd.run([work.path, word, "n1"]) }
            }
            try await certify("serverAuth")
            let site = Site(work, made)
            let key = try await agent.tokenctl(
                "fleet",
                "init",
                "--name",
                "team",
                "--key-file",
                agent.home.path("fleet.key")
            )
            #expect(key.status == 0, "\(key)")
            try agent.configure(site.configuration([:], agent.home.path))
            try await agent.start()
            let remedy = "the extended key usage clientAuth in the certificates of etcd's members"
            let refused = try await agent.tokenctl("fleet", "status")
            #expect(PrintedRemedy(refused, holding: remedy) != nil, "\(refused)")
            try await certify("serverAuth,clientAuth")
            let isWorking = try await Polling.until(within: .seconds(20)) {
                try await agent.tokenctl("fleet", "status").status == 0
            }
            #expect(isWorking, "\(agent.log)")
            try await agent.end()
            try await FleetScene.etcd.run([work.path, "stop"])
        }
    }
}
