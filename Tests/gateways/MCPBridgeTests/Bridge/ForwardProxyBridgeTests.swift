// SPDX-License-Identifier: MIT

import DemoIssuer
import MCPBridge
import TestSupport
import Testing
import Text

/// Servers behind a forward proxy.
@Suite(.timeLimit(.minutes(5)))
struct ForwardProxyBridgeTests {
    private static let address = "https://mcp.example/mcp"

    /// A server that only the proxy can find, and the proxy.
    private struct Scene {
        let server: MCPDouble
        let front: ConnectProxy
        let proxy: ConnectProxy
        let authorities: String
        private let home: TemporaryDirectory
        private let isTLS: Bool

        init(
            isTLS: Bool = false,
            for names: [String] = ["mcp.example"],
            credentials: String? = nil
        ) async throws {
            let authority = try CertificateAuthority()
            let identity = try authority.issue(for: names)
            let own = try authority.issue()
            server = try MCPDouble()
            front = try await ConnectProxy.start(before: server.port) { try identity.secure($0) }
            proxy = try await ConnectProxy.start(
                credentials: credentials,
                places: ["mcp.example:443": front.port, "192.0.2.7:443": front.port]
            ) { if isTLS { try own.secure($0) } }
            home = try TemporaryDirectory()
            authorities = try home.write(authority.certificatePEM, to: "ca.pem")
            self.isTLS = isTLS
        }

        func run(
            _ credentials: String? = nil,
            to address: String = ForwardProxyBridgeTests.address
        ) throws -> BridgeRun {
            let proxy = try ForwardProxy("\(isTLS ? "https" : "http")://127.0.0.1:\(proxy.port)")
            let shown = credentials.flatMap { ProxyCredentials($0.utf8) }
            return try BridgeRun(to: address, authorities: authorities, proxy: ResourceProxy(proxy, shown))
        }

        func end() async {
            await proxy.stop()
            await front.stop()
        }
    }

    @Test(.holds("88"), arguments: [false, true])
    func `a conversation goes through the proxy, which sees nothing of it`(isTLS: Bool) async throws {
        let scene = try await Scene(isTLS: isTLS, credentials: "al:secret")
        let run = try scene.run("al:secret")
        try await run.begin()
        for id in 1...9 {
            run.call(Int64(id), text: "\(id)")
            #expect(try await run.text(Int64(id)) == "\(id)")
        }
        #expect(try await run.finish())
        #expect(scene.server.requests.allSatisfy { $0.token == "at-1" && $0.field("host") == "mcp.example" })
        #expect(scene.proxy.requests.allSatisfy { $0.hasPrefix("CONNECT mcp.example:443 HTTP/1.1\r\n") })
        // The connections are kept.
        #expect((1...4).contains(scene.proxy.connections), "\(scene.proxy.connections)")
        #expect(!scene.proxy.relayed.isEmpty && !scene.proxy.relayed.contains("at-1"))
        await scene.end()
    }

    @Test func `the server behind a proxy has to prove its name or its address`() async throws {
        for (name, host, isReached) in [
            ("other.example", "mcp.example", false), ("192.0.2.7", "192.0.2.7", true),
            ("127.0.0.1", "192.0.2.7", false),
        ] {
            let scene = try await Scene(for: [name])
            let run = try scene.run(to: "https://\(host)/mcp")
            run.send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            let answer = try await run.answer(1)
            let complaint = answer["error"]?.object?["message"]?.string ?? ""
            let isForeign = complaint.contains("the certificate is for another host name")
            #expect(isForeign == !isReached, "\(name): \(complaint)")
            #expect(scene.server.requests.isEmpty == !isReached)
            #expect(try await run.finish())
            await scene.end()
        }
    }

    @Test(.holds("88"), arguments: [nil, "al:wrong"])
    func `a proxy that lets nobody in is named, and nothing is sent`(credentials: String?) async throws {
        let scene = try await Scene(credentials: "al:secret")
        let run = try scene.run(credentials)
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        let complaint = try await run.complaint(1)
        #expect(complaint.contains("the proxy http://127.0.0.1:\(scene.proxy.port) requires"), "\(complaint)")
        #expect(scene.front.connections == 0)
        #expect(try await run.finish())
        await scene.end()
    }

    @Test(.holds("88")) func `an https proxy that nobody vouches for gets no request`() async throws {
        let scene = try await Scene(isTLS: true)
        let proxy = try ForwardProxy("https://127.0.0.1:\(scene.proxy.port)")
        let run = try BridgeRun(to: Self.address, proxy: ResourceProxy(proxy))
        run.send(#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        let complaint = try await run.complaint(1)
        #expect(complaint.contains("the proxy \(proxy) is not trusted"), "\(complaint)")
        #expect(scene.proxy.requests.isEmpty && scene.front.connections == 0)
        #expect(try await run.finish())
        await scene.end()
    }
}
