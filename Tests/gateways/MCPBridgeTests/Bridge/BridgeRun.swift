// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import MCPBridge
import NIOPosix
import Synchronization
import TestSupport
import Testing
import Text

/// An agent with one session, `work`, whose tokens are at-1, at-2, … .
final class TokenAgent: Sendable {
    /// The agent's responses.
    struct Script: Sendable {
        var report: ScriptedAgent.Step?
        /// The response to an individual report, or `nil` for that of ``report``.
        var reportAnswer: @Sendable (_ request: String) -> ScriptedAgent.Step? = { _ in nil }
        var token: ScriptedAgent.Step?
        var lifetime = 600
        /// Whether its tokens are bound to a key.
        var isBound = false
    }

    private struct State {
        var script = Script()
        var number = 1
        var proofs = 0
    }

    private let state = Mutex(State())
    private let scripted = Mutex<ScriptedAgent?>(nil)

    /// Creates an agent whose session is for `resource`.
    init(resource: String) throws {
        let agent = try ScriptedAgent { [weak self] request in
            self?.answer(request, resource) ?? .hang
        }
        scripted.withLock { $0 = agent }
    }

    func change(_ change: (inout Script) -> Void) {
        state.withLock { change(&$0.script) }
    }

    var socket: String { scripted.withLock { $0?.socket ?? "" } }

    /// Returns the requests so far whose first line contains `text`.
    func requests(_ text: String) -> [String] {
        let all = scripted.withLock { $0?.requests ?? [] }
        return all.filter { $0.prefix { $0 != "\r\n" }.contains(text) }
    }

    private func answer(_ request: String, _ resource: String) -> ScriptedAgent.Step {
        let line = request.split(separator: "\r\n").first ?? ""
        return state.withLock { state in
            if line.contains("/report") {
                if let step = state.script.reportAnswer(request) ?? state.script.report { return step }
                state.number += 1
                return .answer(
                    #"{"action":"retry","access_token":"at-\#(state.number)","token_type":"Bearer"}"#
                )
            }
            if line.contains("/token") {
                if let step = state.script.token { return step }
                if line.contains("dpop_url"), !state.script.isBound {
                    return .answer(
                        #"{"error":{"code":"misconfigured","message":"there is no key"}}"#,
                        status: 500
                    )
                }
                let type = state.script.isBound ? "DPoP" : "Bearer"
                state.proofs += 1
                let nonce =
                    line.split(separator: "dpop_nonce=").dropFirst().first?.prefix { $0 != " " } ?? "none"
                let proof = line.contains("dpop_url") ? #","dpop_proof":"p\#(state.proofs)-\#(nonce)""# : ""
                return .answer(
                    #"{"session":"work","access_token":"at-\#(state.number)","token_type":"\#(type)","expires_in":\#(state.script.lifetime)\#(proof)}"#
                )
            }
            return .answer(#"{"sessions":[{"session":"work","resource":"\#(resource)"}]}"#)
        }
    }
}

/// A bridge in this process, between a server and a test that plays the client.
final class BridgeRun: Sendable {
    let agent: TokenAgent
    private let input: Mutex<Int32>
    /// The lines that the bridge has written, each with the message in it.
    private let lines = Mutex<[(text: String, message: JSONObject?)]>([])
    private let ended = Mutex(false)

    /// - Parameters:
    ///   - address: the address of the server.
    ///   - resource: the resource of the agent's session, if it is another address.
    ///   - authorities: a file with certificates to trust.
    ///   - proxy: the forward proxy.
    ///   - drainLimit: the maximum wait for responses after the end of the input.
    ///   - messageLimit: the maximum size of one message in bytes.
    ///   - backlogLimit: the maximum number of bytes that may wait for the response to `initialize`.
    /// - Throws: the error in the address.
    init(
        to address: String,
        resource: String? = nil,
        authorities: String? = nil,
        proxy: ResourceProxy? = nil,
        drainLimit: Duration = Bridge.drainLimit,
        messageLimit: Int = BridgeLimits.message,
        backlogLimit: Int = BridgeLimits.message
    ) throws {
        agent = try TokenAgent(resource: resource ?? address)
        let endpoint = AgentEndpoint(socket: agent.socket, mayStartAgent: false)
        let source = try ResourceSession(try #require(ResourceAddress(address)), endpoint)
        var toBridge: [Int32] = [-1, -1]
        var fromBridge: [Int32] = [-1, -1]
        guard pipe(&toBridge) == 0, pipe(&fromBridge) == 0 else { throw SystemFailure("pipe") }
        let (reading, writing) = (fromBridge[0], fromBridge[1])
        let own = toBridge[0]
        input = Mutex(toBridge[1])
        let bridge = try Bridge(
            source,
            authorities: authorities,
            proxy: proxy,
            descriptors: (own, writing),
            drainLimit: drainLimit,
            messageLimit: messageLimit,
            backlogLimit: backlogLimit,
            on: MultiThreadedEventLoopGroup.singleton
        )
        Task { [weak self] in
            await bridge.run()
            await bridge.end()
            close(own)
            close(writing)
            self?.ended.withLock { $0 = true }
        }
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        threads.submit { [weak self] _ in
            var cutter = LineCutter()
            var piece = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(reading, &piece, piece.count), count > 0 {
                cutter.append(Array(piece[..<count]))
                while let line = cutter.next() {
                    let message = (try? JSONValue(parsing: line))?.object
                    let text = String(decoding: line, as: UTF8.self)
                    self?.lines.withLock { $0.append((text, message)) }
                }
            }
            close(reading)
            threads.shutdownGracefully { _ in }
        }
    }

    deinit {
        endInput()
    }

    /// Everything that the bridge has written so far.
    var written: [String] { lines.withLock { $0.map(\.text) } }

    /// Sends a line.
    func send(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        let descriptor = input.withLock(\.self)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Ends the input.
    func endInput() {
        input.withLock { descriptor in
            if descriptor >= 0 { close(descriptor) }
            descriptor = -1
        }
    }

    /// Ends the input and waits until the bridge has ended.
    func finish() async throws -> Bool {
        endInput()
        return try await Polling.until(within: .seconds(60)) { ended.withLock(\.self) }
    }

    /// Waits for the first line whose message satisfies the predicate.
    func message(
        _ what: Comment = "a message",
        within limit: Duration = .seconds(120),
        where fits: (JSONObject) -> Bool
    ) async throws -> JSONObject {
        let found = try await Polling.value(within: limit) {
            lines.withLock { $0.compactMap(\.message) }.first(where: fits)
        }
        return try #require(found, what)
    }

    /// Waits for the response to the request `id`.
    func answer(_ id: Int64, within limit: Duration = .seconds(120)) async throws -> JSONObject {
        try await message("an answer to \(id)", within: limit) { $0["id"]?.integer == id }
    }

    /// Waits for the error response to the request `id`, and returns its message.
    func complaint(_ id: Int64, within limit: Duration = .seconds(120)) async throws -> String {
        try await answer(id, within: limit)["error"]?.object?["message"]?.string ?? "no error"
    }

    /// Opens a session as a client of version 2025-11-25 does.
    func begin() async throws {
        send(
            #"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#
        )
        let answer = try await answer(0)
        try #require(answer["result"]?.object?["protocolVersion"]?.string == "2025-11-25", "\(answer)")
        send(#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
    }

    /// Calls a tool.
    func call(_ id: Int64, _ tool: String = "echo", text: String = "hello") {
        let call: JSONValue = [
            "jsonrpc": "2.0", "id": .integer(id), "method": "tools/call",
            "params": ["name": .string(tool), "arguments": ["text": .string(text)]],
        ]
        send(call.text)
    }

    /// Waits for the response to the tool call `id`, and returns its text.
    func text(_ id: Int64) async throws -> String? {
        let answer = try await answer(id)
        return answer["result"]?.object?["content"]?.array?.first?.object?["text"]?.string
            ?? answer["error"]?.object?["message"]?.string
    }
}
