// SPDX-License-Identifier: MIT

import Synchronization
import TestSupport
import Testing

/// An agent whose token is AT1 until the first refresh.
private final class RefreshingAgent: Sendable {
    let agent: ScriptedAgent

    init() throws {
        let number = Shared()
        agent = try ScriptedAgent(responding: { request in
            if request.hasPrefix("POST ") {
                number.next()
                let action = #"{"action":"retry","access_token":"AT\#(number.value)","token_type":"Bearer"}"#
                return .answer(request.contains("/report ") ? action : "{}")
            }
            let token =
                #"{"session":"work","access_token":"AT\#(number.value)","expires_at":\#(1_700_000_000 + number.value)}"#
            if request.contains("/token") {
                let isPlain = request.contains("Accept: text/plain")
                return .answer(
                    isPlain ? "AT\(number.value)\n" : token,
                    type: isPlain ? "text/plain" : "application/json"
                )
            }
            let work = #"{"session":"work","hosts":["h.example","*.w.example"]}"#
            return .answer(request.contains("/sessions/work ") ? work : #"{"sessions":[\#(work)]}"#)
        })
    }

    var posts: [String] {
        agent.requests.filter { $0.hasPrefix("POST ") }.map { request in
            let path = request.split(separator: " ")[1].split(separator: "/").last ?? ""
            return "\(path) \(request.split(separator: "\r\n", omittingEmptySubsequences: false).last ?? "")"
        }
    }

    /// The names of the files about recent refreshes.
    var refreshNotes: Set<String> {
        Set(File.names(in: notes).filter { $0.hasPrefix("refreshed-") })
    }

    /// The directory of the files about recent requests.
    var notes: String { agent.socket.dropLast("/agent.sock".count) + "/asked" }

    /// Runs lines of shell, each of whose commands has that one shell as its parent.
    func shell(_ script: String) async throws -> String {
        let result = try await Program.run(
            ["/bin/sh", "-c", script + "\ntrue"],
            environment: [
                "TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0",
                "PATH": "\(BuiltPrograms.directory):/usr/bin:/bin",
            ]
        )
        #expect(result.standardError.isEmpty)
        return result.standardOutput
    }

    private final class Shared: Sendable {
        private let number = Mutex(1)
        var value: Int { number.withLock(\.self) }
        func next() { number.withLock { $0 += 1 } }
    }
}

/// The signs by which each helper recognizes that a server rejected the token.
@Suite struct RefusalSignTests {
    private static let docker = "echo h.example | tokenctl docker-credential"

    @Test(arguments: [
        ("tokenctl kube-credential work", "tokenctl kube-credential work", true),
        ("tokenctl kube-credential work --id-token", "tokenctl kube-credential work --id-token", true),
        ("tokenctl kube-credential work", "tokenctl kube-credential work --id-token", false),
        ("tokenctl keyring get https://h.example/s me", "tokenctl keyring get https://h.example/s me", true),
        ("tokenctl keyring get https://h.example/s me", "tokenctl keyring get https://h.example/t me", false),
        ("tokenctl get work --refresh-if-repeated", "tokenctl get work --refresh-if-repeated", true),
        ("tokenctl get work", "tokenctl get work", false),
        ("tokenctl get work", "tokenctl get work --refresh-if-repeated", false),
        ("\(docker) get", "\(docker) get", false), ("\(docker) get", "\(docker) erase", true),
        ("tokenctl google work", "tokenctl google work", false),
        ("tokenctl terraform get h.example", "tokenctl terraform get h.example", false),
    ])
    func `a second question within seconds`(first: String, second: String, isSign: Bool) async throws {
        let agent = try RefreshingAgent()
        _ = try await agent.shell("\(first)\n\(second)")
        #expect(agent.posts == (isSign ? ["refresh {}"] : []))
    }

    @Test func `the second answer is the fresh token`() async throws {
        let agent = try RefreshingAgent()
        let output = try await agent.shell(
            "tokenctl keyring get h.example me; tokenctl keyring get h.example me; tokenctl keyring get h.example me"
        )
        #expect(output == "AT1\nAT2\nAT2\n")
    }

    @Test(.holds("161")) func `a server that refuses everything costs two refreshes a minute, whoever asks`()
        async throws
    {
        let agent = try RefreshingAgent()
        let twice = "tokenctl kube-credential work; tokenctl kube-credential work"
        for _ in 1...3 { _ = try await agent.shell("\(twice); \(twice)") }
        _ = try await agent.shell("\(Self.docker) erase; \(Self.docker) erase")
        #expect(agent.posts == ["refresh {}", "refresh {}"])
    }

    /// kubectl requests a token twice if the cluster rejects requests without one.
    @Test func `who asks twice when all is well costs one refresh, and a refusal heals`() async throws {
        let agent = try RefreshingAgent()
        let ask = "tokenctl kube-credential work | grep -o AT."
        let first = try await agent.shell("\(ask); \(ask)")
        #expect(first == "AT1\nAT2\n")
        for _ in 1...3 { #expect(try await agent.shell("\(ask); \(ask)") == "AT2\nAT2\n") }
        #expect(agent.posts == ["refresh {}"])
        // After a rejection, kubectl requests a token for the third time.
        #expect(try await agent.shell("\(ask); \(ask); \(ask)") == "AT2\nAT2\nAT3\n")
        #expect(agent.posts.count == 2)
    }

    @Test func `what is remembered of a refresh is removed when it means nothing any more`() async throws {
        let agent = try RefreshingAgent()
        let question = "tokenctl kube-credential work"
        _ = try await agent.shell("\(question); \(question)")
        let fresh = agent.refreshNotes
        #expect(fresh.count == 1)
        // Files of a removed session, of an earlier boot of the machine, and one that is being written.
        let notes = "echo '-60 0' >refreshed-1; echo '9000000000 0' >refreshed-2; : >refreshed-3"
        _ = try await agent.shell("cd '\(agent.notes)' && { \(notes); }")
        #expect(agent.refreshNotes.count == 4)
        _ = try await agent.shell("tokenctl keyring get h.example me")
        #expect(agent.refreshNotes == fresh.union(["refreshed-3"]))
    }

    @Test func `the question of another program is none`() async throws {
        let agent = try RefreshingAgent()
        for _ in 1...3 { _ = try await agent.shell("tokenctl kube-credential work") }
        #expect(agent.posts.isEmpty)
    }

    private static let refusal =
        #"printf 'HTTP/1.1 401 Unauthorized\nWww-Authenticate: Bearer error="invalid_token"\n\n'"#

    @Test func `go hands over the server's answer, and the token it was given is reported`() async throws {
        let agent = try RefreshingAgent()
        let output = try await agent.shell(
            "tokenctl goauth; \(Self.refusal) | tokenctl goauth https://h.example/mod/@v/list"
        )
        let headers = ["AT1", "AT2"].map { "https://h.example\n\nAuthorization: Bearer \($0)\n\n" }
        #expect(output == headers.joined())
        let report =
            #"{"token":"AT1","status":401,"www_authenticate":"Bearer error=\"invalid_token\"","body":"","host":"h.example:443"}"#
        #expect(agent.posts == ["report \(report)"])
    }

    @Test(
        .holds("161"),
        arguments: [
            ("true", refusal, "https://h.example/x"), ("tokenctl goauth", refusal, "https://a.w.example/x"),
            ("tokenctl goauth", "printf 'HTTP/1.1 404 Not Found\\n\\n'", "https://h.example/x"),
            ("tokenctl goauth", "printf ''", "https://h.example/x"),
        ]
    )
    func `a refusal of a request without our token is not reported`(
        first: String,
        answer: String,
        url: String
    ) async throws {
        let agent = try RefreshingAgent()
        let output = try await agent.shell("\(first) >/dev/null; \(answer) | tokenctl goauth \(url)")
        #expect(output.hasSuffix("Authorization: Bearer AT1\n\n"))
        #expect(agent.posts.isEmpty)
    }
}
