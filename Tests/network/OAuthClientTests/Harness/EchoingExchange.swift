// SPDX-License-Identifier: MIT

import NIOPosix
import SecretMemory
import ServerSettings
import Synchronization
import Text
import TokenCore

@testable import OAuthClient

/// A server that derives its responses from the requests.
final class EchoingExchange: HTTPExchanging {
    /// A received request: its address, the parameters of a form or the members of an object, and its credentials.
    struct Received {
        var url: String
        var parameters: [String: String]
        var authorization: String?
    }

    private let answer: @Sendable (Received) -> ServerResponse

    init(_ answer: @escaping @Sendable (Received) -> ServerResponse) {
        self.answer = answer
    }

    func send(_ request: OutgoingRequest) async throws(TransportFailure) -> ServerResponse {
        var parameters: [String: String] = [:]
        request.form?.withBytes { bytes in
            for (name, value) in FormEncoding.decoded(String(decoding: bytes, as: UTF8.self)) ?? [] {
                parameters[name] = value
            }
        }
        request.json?.withBytes { bytes in
            guard let body = try? JSONValue(parsing: bytes) else { return }
            EchoingExchange.collect(body, &parameters)
        }
        let authorization = request.headers.first { $0.name == "authorization" }?.value
        return answer(
            Received(url: request.url.description, parameters: parameters, authorization: authorization)
        )
    }

    private static func collect(_ value: JSONValue, _ parameters: inout [String: String]) {
        for member in value.object?.members ?? [] {
            if let text = member.value.string { parameters[member.name] = text }
            collect(member.value, &parameters)
        }
    }
}

extension ServerResponse {
    static func json(_ value: JSONValue, status: Int = 400) -> ServerResponse {
        ServerResponse(status: status, body: value.serialized)
    }
}

/// Servers over ``EchoingExchange``, as the agent has them.
struct EchoBench {
    let memory: SealedMemory
    let servers: AuthorizationServers
    let name: SessionName

    init(
        _ profile: ServerProfile,
        _ answer: @escaping @Sendable (EchoingExchange.Received) -> ServerResponse
    ) throws {
        let memory = try SealedMemory()
        let clock = ManualClock()
        let tools = ServerDependencies(
            memory: memory,
            timekeeper: clock,
            commands: ScriptedCommands(prints: EchoBench.clientSecret),
            exchange: EchoingExchange(answer),
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            sleep: clock.sleeping
        )
        guard let name = SessionName("work") else { fatalError("a name that is none") }
        self.memory = memory
        self.name = name
        servers = AuthorizationServers(profiles: [name: profile], tools: tools)
    }

    static let clientSecret = "cl1ent+s3cret/of~some=length"
    static let refreshToken = "rt-0123456789/+=%7e\"abcdefghijklmnopqrstuvwxyz"
    static let accessToken = "at-9876543210.zyxwvutsrq"
    static let password = "p\u{E4}ss w\u{F6}rd"

    func refresh() async throws -> RefreshOutcome {
        await servers.refresh(
            name,
            RefreshRequest(
                attempt: AttemptNumber(rawValue: 1),
                renewal: .refreshToken(try memory.sealing(EchoBench.refreshToken, as: .refreshToken)),
                variant: .primary,
                accessToken: try memory.sealing(EchoBench.accessToken, as: .accessToken)
            )
        )
    }

    func revoke() async throws -> RevocationOutcome {
        await servers.revoke(
            name,
            RevocationRequest(
                refreshToken: try memory.sealing(EchoBench.refreshToken, as: .refreshToken),
                accessToken: try memory.sealing(EchoBench.accessToken, as: .accessToken)
            )
        )
    }

    func logIn(
        _ flow: LoginFlow,
        pastesRedirect: Bool = false,
        secret: String? = nil,
        person: ScriptedPerson? = nil
    ) async throws -> LoginOutcome {
        let request = LoginRequest(
            flow: flow,
            pastesRedirect: pastesRedirect,
            username: "alice",
            secret: try secret.map { try memory.sealing($0, as: .password) }
        )
        return await servers.logIn(
            name,
            request,
            conversation: person ?? ScriptedPerson(memory: memory)
        )
    }
}
