// SPDX-License-Identifier: MIT

import DemoIssuer
import TestSupport
import Testing

/// A logged-in session, a server that accepts its tokens or not, and a proxy between programs and that server.
struct ProxyScene {
    let scene: Scene
    let upstream: RawUpstream
    let proxy: Program
    /// Where the proxy listens.
    let url: String

    var agent: AgentUnderTest { scene.agent }
    var port: Int { Int(url.split(separator: ":").last ?? "") ?? 0 }

    /// A plain answer.
    static func ok(_ body: String = "fine", fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
    }

    /// Starts everything; the table has the name `api` and more `keys`, `answer` is what the server says to a
    /// request, and `isAnsweredEarly` whether it does so when the head is there.
    static func start(
        keys: String = "",
        session: String = "",
        more: String = "",
        listen: String = "127.0.0.1:0",
        _ arguments: String...,
        answer: @escaping @Sendable (String) -> RawUpstream.Reply = { _ in .bytes(ok()) },
        early isAnsweredEarly: @escaping @Sendable (String) -> Bool = { _ in false }
    ) async throws -> ProxyScene {
        let upstream = try await RawUpstream.start(early: isAnsweredEarly, answer)
        let table = """
            [[proxy]]
            name = "api"
            listen = "\(listen)"
            upstream = "\(upstream.url)"
            session = "work"
            \(keys)

            """
        let scene = try await Scene.loggedIn(session: session, more: more + table)
        let proxy = try scene.agent.startTokenctl(["proxy"] + arguments)
        let line = try await proxy.outputLine(containing: "api ")
        let url = String(line.dropFirst("api ".count))
        return ProxyScene(scene: scene, upstream: upstream, proxy: proxy, url: url)
    }

    /// Runs curl against the listener and returns its output.
    func curl(_ arguments: String..., path: String = "/") async throws -> ProgramResult {
        try await Program.run(
            ["curl", "-sS", "--max-time", "120"] + arguments + [url + path],
            environment: agent.environment
        )
    }

    /// The status of a request.
    func status(_ arguments: String..., path: String = "/") async throws -> String {
        let words = ["curl", "-s", "--max-time", "120", "-o", "/dev/null", "-w", "%{http_code}"]
        return try await Program.run(words + arguments + [url + path], environment: agent.environment)
            .standardOutput
    }

    /// Sends `text` as it is and reads until the listener closes.
    func raw(_ text: String, until end: String? = nil) throws -> String {
        let client = try RawClient(port: port)
        client.send(text)
        return client.read(until: end)
    }

    /// Ends the proxy and returns its exit status.
    func end() async throws -> Int32 {
        proxy.signal(.terminate)
        return try await proxy.finish().status
    }
}
