// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

extension EndToEnd {
    /// A proxy's checks of its server's identity, its own client certificate, and the end of its connections.
    @Suite struct UpstreamProofTests {
        /// Starts an agent and a proxy with a table for each of `keys`, all at `upstream` or the scene's issuer.
        ///
        /// - Returns: the proxy, and where each table is reached.
        private static func start(
            _ scene: Scene,
            _ keys: [String],
            at upstream: String? = nil
        ) async throws -> (Program, [String]) {
            let tables = keys.enumerated().map { index, keys in
                """
                [[proxy]]
                name = "p\(index)"
                listen = "127.0.0.1:0"
                upstream = "\(upstream ?? scene.issuer.issuer)"
                session = "work"
                \(keys)

                """
            }
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text + tables.joined())
            try await scene.agent.start()
            try await scene.logIn()
            let proxy = try scene.agent.startTokenctl(["proxy"])
            var urls: [String] = []
            for index in keys.indices {
                let line = try await proxy.outputLine(containing: "p\(index) ")
                urls.append(String(line.dropFirst("p\(index) ".count)))
            }
            return (proxy, urls)
        }

        @Test(.holds("232")) func `a server is believed by the authority and the key that its table names`()
            async throws
        {
            let authority = try CertificateAuthority()
            let identity = try authority.issue()
            let stranger = try CertificateAuthority(name: "stranger").issue()
            let scene = try await Scene(options: { $0.tls = identity }, session: "ca_file = \"CA_FILE\"")
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("CA_FILE", with: file))
            let trust = "ca_file = \"\(file)\"\n"
            let pins = [identity, stranger].compactMap(\.publicKeyHash).map { "pins = [\"sha256/\($0)\"]\n" }
            try #require(pins.count == 2)
            let (proxy, urls) = try await Self.start(
                scene,
                ["", pins[0], trust, trust + pins[0], trust + pins[1]]
            )
            defer { proxy.signal(.terminate) }
            let wanted = [
                ("502", "is not trusted: unknown issuer"),
                ("502", "is not trusted: unknown issuer"), ("200", "alice"),
                ("200", "alice"), ("502", "matches no pin"),
            ]
            for (url, (status, text)) in zip(urls, wanted) {
                let answer = try await scene.agent.shell("curl -s -w ' %{http_code}' '\(url)/resource'")
                    .standardOutput
                #expect(answer.hasSuffix(" \(status)") && answer.contains(text), "\(answer)")
            }
            #expect(scene.issuer.requests(to: "/resource").count == 2)
        }

        @Test(
            .holds("82"),
            arguments: [
                ("localhost", ["127.0.0.1"], false), ("localhost", ["127.0.0.1", "localhost"], true),
                ("127.0.0.1", ["127.0.0.1"], true),
            ]
        )
        func `an upstream with a certificate for the address that its name leads to gets no request`(
            host: String,
            names: [String],
            isReached: Bool
        ) async throws {
            let authority = try CertificateAuthority()
            let identity = try authority.issue(for: names)
            let scene = try await Scene(options: { $0.tls = identity }, session: "ca_file = \"CA_FILE\"")
            let file = try scene.agent.home.write(authority.certificatePEM, to: "ca.pem")
            let text = try #require(File.text(scene.agent.configurationPath))
            try scene.agent.configure(text.replacing("CA_FILE", with: file))
            let upstream = "https://\(host):\(scene.issuer.port)"
            let (proxy, urls) = try await Self.start(scene, ["ca_file = \"\(file)\""], at: upstream)
            defer { proxy.signal(.terminate) }
            let answer = try await scene.agent.shell("curl -s -w ' %{http_code}' '\(urls[0])/resource'")
                .standardOutput
            #expect(answer.hasSuffix(isReached ? " 200" : " 502"), "\(answer)")
            #expect(answer.contains("certificate is for another host name") == !isReached, "\(answer)")
            #expect(scene.issuer.requests(to: "/resource").count == (isReached ? 1 : 0))
        }

        /// No resolver has the last one.
        @Test(arguments: ["localhost", "api.localhost"])
        func `an upstream on this machine is reached in the clear, and without a resolver`(
            host: String
        ) async throws {
            let scene = try await Scene()
            let upstream = "http://\(host):\(scene.issuer.port)"
            let (proxy, urls) = try await Self.start(scene, [""], at: upstream)
            defer { proxy.signal(.terminate) }
            let answer = try await scene.agent.shell("curl -s -w ' %{http_code}' '\(urls[0])/resource'")
            #expect(answer.standardOutput.hasSuffix(" 200"), "\(answer)")
            #expect(scene.issuer.requests(to: "/resource").count == 1)
        }

        @Test(.holds("230"), arguments: [false, true])
        func `each request has a proof of its own, with the nonce that the server wants`(
            wantsNonce: Bool
        ) async throws {
            let scene = try await Scene(
                {
                    $0.dpop = .required
                    $0.demandsDPoPNonce = wantsNonce
                },
                session: "dpop = true"
            )
            let (proxy, urls) = try await Self.start(scene, [""])
            defer { proxy.signal(.terminate) }
            // A server that wants its newest nonce refuses those who ask at the same time.
            let script = """
                for i in $(seq 20); do for p in resource userinfo; do echo "\(urls[0])/$p?n=$i"; done; done |
                xargs -P \(wantsNonce ? 1 : 8) -n 1 \
                    curl -s -o /dev/null -w '%{http_code}\\n' -H 'DPoP: mine' -H 'Authorization: DPoP mine'
                """
            let result = try await scene.agent.shell(script, within: .seconds(120))
            let statuses = result.standardOutput.split(separator: "\n")
            #expect(statuses.count == 40 && statuses.allSatisfy { $0 == "200" }, "\(result)")
            let requests = ["/resource", "/userinfo"].flatMap { scene.issuer.requests(to: $0) }
            let proofs = requests.compactMap { $0.header("dpop") }
            #expect(proofs.count == requests.count && Set(proofs).count == proofs.count)
            #expect(!proofs.contains("mine") && scene.refreshes == 0)
        }

        @Test(.holds("230")) func `a request under way is answered before the proxy ends`() async throws {
            let scene = try await Scene()
            let (proxy, urls) = try await Self.start(scene, [""])
            scene.issuer.queue(Disturbance(isHeld: true), for: "/resource")
            let script = "curl -s -w ' %{http_code}' '\(urls[0])/resource'"
            async let answer = scene.agent.shell(script, within: .seconds(120))
            #expect(await scene.issuer.hasReceived(1, to: "/resource", within: .seconds(60)))
            proxy.signal(.terminate)
            // Nobody new is let in.
            let isClosed = try await Polling.until {
                try await scene.agent.shell("curl -s '\(urls[0])/'").status == 7
            }
            #expect(isClosed && proxy.exitStatus == nil)
            scene.issuer.release()
            let result = try await answer
            #expect(result.standardOutput.contains("alice") && result.standardOutput.hasSuffix(" 200"))
            #expect(try await proxy.finish().status == 0)
        }

        @Test(.holds("232")) func `a client that goes away takes its connection to the server with it`()
            async throws
        {
            let scene = try await ProxyScene.start("--access-log", answer: { _ in .silence })
            for index in 0..<40 {
                let client = try RawClient(port: scene.port)
                client.send("GET /\(index) HTTP/1.1\r\nHost: 127.0.0.1:\(scene.port)\r\n\r\n")
                #expect(try await Polling.until { scene.upstream.requests.count == index + 1 })
            }
            let isNoted = try await Polling.until {
                scene.proxy.standardError.split(separator: "\n").count { $0.contains(" 499 ") } == 40
            }
            #expect(isNoted, "\(scene.proxy.standardError)")
        }
    }
}
