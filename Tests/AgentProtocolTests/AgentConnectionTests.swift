// SPDX-License-Identifier: MIT

import Dispatch
import Glibc
import TestSupport
import Testing

@testable import AgentProtocol

@Suite struct `A connection to the agent` {
    private static let token = #"""
        {"session":"work","access_token":"AT","token_type":"Bearer","expires_at":2000000000,"expires_in":3600,\#
        "scope":"a b"}
        """#

    @Test func `a token arrives with everything that is known about it`() throws {
        let agent = try ScriptedAgent(.read, .answer(Self.token))
        var connection = try AgentConnection(socket: agent.socket)
        let token = try connection.token(of: "work", minimumValidity: .seconds(60))
        #expect(token.value == "AT" && token.type == "Bearer" && token.session == "work")
        #expect(token.expiresAt == 2_000_000_000 && token.expiresIn == 3600)
        #expect(token.scopes == ["a", "b"])
        #expect(
            agent.requests.first?.hasPrefix("GET /v1/sessions/work/token?min_valid=60 HTTP/1.1\r\n") == true
        )
    }

    @Test func `one connection serves one request after the other`() throws {
        let agent = try ScriptedAgent(.read, .answer("1"), .read, .answer("2"))
        var connection = try AgentConnection(socket: agent.socket)
        let request = AgentRequest(.get)
        #expect(try connection.exchange(request).body == Array("1".utf8))
        #expect(try connection.exchange(request).body == Array("2".utf8))
        let error = failure { try connection.exchange(request) }
        #expect(error?.code == .noAgent)
    }

    @Test func `the agent's error keeps its words`() throws {
        let body = #"""
            {"error":{"code":"login_required","message":"the login is over","session":"work",\#
            "remedy":"tokenctl login work","retry_after":null}}
            """#
        let agent = try ScriptedAgent(.read, .answer(body, status: 401))
        var connection = try AgentConnection(socket: agent.socket)
        let error = failure { try connection.token(of: "work") }
        #expect(
            error
                == AgentError(
                    .loginRequired,
                    "the login is over",
                    session: "work",
                    remedy: .run("tokenctl login work")
                )
        )
    }

    @Test(arguments: FailureCode.allCases.filter { $0 != .noAgent && $0 != .misconfigured })
    func `a status without error JSON keeps its meaning`(code: FailureCode) throws {
        let answer = ScriptedAgent.Step.answer(
            "<html>",
            status: code.httpStatus,
            header: "Retry-After: 7\r\n"
        )
        let agent = try ScriptedAgent(.read, answer)
        var connection = try AgentConnection(socket: agent.socket)
        let error = failure { try connection.exchange(AgentRequest(.get)) }
        #expect(error?.code == code)
        #expect(error?.retryAfter == .seconds(7))
    }

    @Test func `nobody at the socket is no agent`() {
        let error = failure { _ = try AgentConnection(socket: "/nonexistent/agent.sock") }
        #expect(error?.code == .noAgent)
        #expect(error?.remedy == .run("tokenagent"))
    }

    @Test func `a path that does not fit is an error before anything is tried`() {
        let error = failure { _ = try AgentConnection(socket: "/" + String(repeating: "x", count: 107)) }
        #expect(error?.code == .misconfigured)
    }

    @Test func `a silent agent is waited for no longer than asked`() throws {
        let agent = try ScriptedAgent(.read, .hang)
        var connection = try AgentConnection(socket: agent.socket)
        let error = failure { try connection.exchange(AgentRequest(.get), timeout: .milliseconds(20)) }
        #expect(error?.code == .temporarilyUnavailable)
    }

    @Test func `a socket that accepts and never answers is left after a while`() throws {
        let agent = try ScriptedAgent(.hang)
        var connection = try AgentConnection(socket: agent.socket, maximumSilence: .milliseconds(100))
        let error = failure { try connection.exchange(AgentRequest(.get, "sessions")) }
        #expect(error?.code == .temporarilyUnavailable)
        #expect(error?.message.contains(agent.socket) == true && error?.remedy == .run("tokenctl doctor"))
        let stream = failure {
            _ = try AgentConnection(socket: agent.socket, maximumSilence: .milliseconds(100))
                .lines(of: AgentRequest(.get, "events"))
        }
        #expect(stream?.code == .temporarilyUnavailable)
    }

    @Test func `a request that waits is waited for while the agent answers others`() throws {
        let asked = DispatchSemaphore(value: 0)
        let agent = try ScriptedAgent([
            [
                .reply { _ in
                    asked.wait()
                    return .answer("late")
                }
            ],
            [
                .reply { request in
                    if request.hasPrefix("GET /v1 ") { asked.signal() }
                    return .answer("{}")
                }
            ],
        ])
        var connection = try AgentConnection(socket: agent.socket, maximumSilence: .seconds(3))
        #expect(try connection.exchange(AgentRequest(.get, "sessions")).body == Array("late".utf8))
    }

    @Test func `a socket at which nobody accepts is silent, and no reason to start another agent`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("agent.sock")
        let type = Int32(SOCK_STREAM.rawValue)
        let listener = socket(AF_UNIX, type, 0)
        var peers: [Int32] = []
        defer { for descriptor in peers + [listener] { close(descriptor) } }
        var address = sockaddr_un(path: path)
        func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        try #require(withAddress { bind(listener, $0, $1) } == 0 && listen(listener, 0) == 0)
        var connected: Int32 = 0
        while connected == 0 {
            let peer = socket(AF_UNIX, type | Int32(SOCK_NONBLOCK.rawValue), 0)
            peers.append(peer)
            connected = withAddress { connect(peer, $0, $1) }
        }
        let error = failure { _ = try AgentConnection(socket: path, maximumSilence: .milliseconds(50)) }
        #expect(error?.code == .temporarilyUnavailable)
    }

    @Test func `an agent that stops in the middle is waited for no longer than asked`() throws {
        let agent = try ScriptedAgent(
            .read,
            .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".utf8)),
            .hang
        )
        var connection = try AgentConnection(socket: agent.socket)
        let error = failure { try connection.exchange(AgentRequest(.get), timeout: .milliseconds(20)) }
        #expect(error?.code == .temporarilyUnavailable)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"])
    func `an agent that ends before its answer does is no agent`(wire: String) throws {
        let agent = try ScriptedAgent(.read, .send(Array(wire.utf8)))
        var connection = try AgentConnection(socket: agent.socket)
        let error = failure { try connection.exchange(AgentRequest(.get)) }
        #expect(error?.code == .noAgent)
    }

    @Test(arguments: ["220 smtp ESMTP\r\n\r\n", "HTTP/1.1 200 OK\r\nbroken\r\n\r\n"])
    func `garbage is an internal failure`(wire: String) throws {
        let agent = try ScriptedAgent(.read, .send(Array(wire.utf8)), .hang)
        var connection = try AgentConnection(socket: agent.socket)
        let error = failure { try connection.exchange(AgentRequest(.get)) }
        #expect(error?.code == .internal)
    }

    @Test(arguments: ["{}", "[]", "x", #"{"access_token":1,"expires_at":1}"#, #"{"expires_at":1}"#])
    func `an answer without a token is not one`(body: String) throws {
        let agent = try ScriptedAgent(.read, .answer(body))
        var connection = try AgentConnection(socket: agent.socket)
        let error = failure { try connection.token(of: "work") }
        #expect(error?.code == .internal)
    }

    @Test func `a token without end has no expiry`() throws {
        let agent = try ScriptedAgent(.read, .answer(#"{"access_token":"a","scope":""}"#))
        var connection = try AgentConnection(socket: agent.socket)
        let token = try connection.token(of: "work")
        #expect(token.value == "a")
        #expect(token.expiresAt == nil && token.expiresIn == nil)
    }

    @Test func `lines arrive one by one until the stream ends`() throws {
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\na\n\nb\r\n3\r\nc\nd\r\n1\r\n\n\r\n0\r\n\r\n"
        for step in [ScriptedAgent.Step.lines("a", "", "bc", "d"), .send(Array(chunked.utf8))] {
            let agent = try ScriptedAgent(.read, step)
            var lines = try AgentConnection(socket: agent.socket).lines(of: AgentRequest(.get, "events"))
            var found: [String] = []
            while let line = try lines.next() { found.append(String(decoding: line, as: UTF8.self)) }
            #expect(found == ["a", "bc", "d"])
        }
    }

    @Test func `a line without its end is not a line`() throws {
        let agent = try ScriptedAgent(.read, .lines("a"), .send(Array("half".utf8)))
        var lines = try AgentConnection(socket: agent.socket).lines(of: AgentRequest(.get, "events"))
        #expect(try lines.next() == Array("a".utf8))
        let error = failure { _ = try lines.next() }
        #expect(error?.code == .noAgent)
    }

    @Test func `waiting for a line may end and go on`() throws {
        let agent = try ScriptedAgent(.read, .lines("a"), .hang)
        var lines = try AgentConnection(socket: agent.socket).lines(of: AgentRequest(.get, "events"))
        #expect(try lines.next() == Array("a".utf8))
        let error = failure { _ = try lines.next(timeout: .milliseconds(20)) }
        #expect(error?.code == .temporarilyUnavailable)
    }

    @Test func `a stream that is refused throws what the agent said`() throws {
        let body = #"{"error":{"code":"locked","message":"locked"}}"#
        let agent = try ScriptedAgent(.read, .answer(body, status: 423))
        let error = failure {
            _ = try AgentConnection(socket: agent.socket).lines(of: AgentRequest(.get, "events"))
        }
        #expect(error == AgentError(.locked, "locked"))
    }

    /// Returns the error that `body` throws, or `nil` if it succeeds.
    ///
    /// The expectation macros cannot capture a connection.
    private func failure<Result>(_ body: () throws -> Result) -> AgentError? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? AgentError
        }
    }
}
