// SPDX-License-Identifier: MIT

import NIOPosix
import SecretMemory
import ServerSettings
import Synchronization
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Servers with every habit: what happens to the refresh token, how requests are sent, and which lifetime is told.
struct RotationHabitTests {
    enum Habit: CaseIterable {
        /// The response has no refresh token.
        case kept
        case rotated
        /// The response repeats the refresh token.
        case echoed
        /// The refresh token is replaced, and the use of an old one ends the login.
        case reuseDetected
    }

    /// The members of a response with a lifetime, as servers write it.
    private static let lifetimes = [
        "", #","expires_in":3600"#, #","expires_in":"3600""#, #","expires_in":0"#, #","expires_in":-1"#,
        #","expires_in":1e300"#, #","expires_in":null,"expires_at":"soon""#,
    ]

    /// The state of a server with one login.
    private final class Login: Sendable {
        private let state = Mutex((current: "rt-0", count: 0, isOver: false))
        private let habit: Habit
        private let lifetime: String

        init(_ habit: Habit, _ lifetime: String) {
            self.habit = habit
            self.lifetime = lifetime
        }

        var count: Int { state.withLock { $0.count } }

        func answer(_ token: String?) -> String {
            state.withLock { state in
                guard !state.isOver, let token, token == state.current else {
                    if habit == .reuseDetected { state.isOver = true }
                    return #"{"error":"invalid_grant"}"#
                }
                state.count += 1
                if habit == .rotated || habit == .reuseDetected { state.current = "rt-\(state.count)" }
                let member = habit == .kept ? "" : #","refresh_token":"\#(state.current)""#
                return #"{"access_token":"at-\#(state.count)","token_type":"bearer"\#(member)\#(lifetime)}"#
            }
        }
    }

    /// Returns the refresh token in a request as it is on the wire.
    private static func refreshToken(in request: String, _ placement: TokenRequestFormat.Placement) -> String?
    {
        let parts = request.bytewise.parts(around: "\r\n\r\n")
        let body = parts.map { String($0.after) } ?? ""
        let line = request.prefix { $0 != "\r\n" }
        switch placement {
        case .form: return FormEncoding.decoded(body)?.first { $0.name == "refresh_token" }?.value
        case .json: return (try? JSONValue(parsing: body.utf8).object)?["refresh_token"]?.string
        case .query, .get:
            guard line.hasPrefix(placement == .get ? "GET " : "POST "), body.isEmpty else { return nil }
            let query = line.split(separator: " ")[1].split(separator: "?").last ?? ""
            return FormEncoding.decoded(query)?.first { $0.name == "refresh_token" }?.value
        }
    }

    @Test(
        .holds("272"),
        arguments: Habit.allCases.flatMap { habit in
            TokenRequestFormat.Placement.allCases.map { (habit, $0) }
        }
    )
    func `no login is lost`(habit: Habit, placement: TokenRequestFormat.Placement) async throws {
        for lifetime in Self.lifetimes {
            let login = Login(habit, lifetime)
            let endpoint = try await TinyServer.start { request in
                let body = login.answer(Self.refreshToken(in: request, placement))
                let status = body.hasPrefix(#"{"error"#) ? "400 Bad Request" : "200 OK"
                return [
                    .send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"), .close,
                ]
            }
            let memory = try SealedMemory()
            let transport = HTTPTransport(eventLoop: Wire.eventLoop)
            let tools = ServerDependencies(
                memory: memory,
                timekeeper: ManualClock(),
                commands: ScriptedCommands(),
                exchange: transport,
                eventLoop: Wire.eventLoop,
                sleep: ManualClock().sleeping
            )
            let address = "http://127.0.0.1:\(endpoint.port)/token"
            var profile = ServerProfile(
                kind: .oauth2(FixedEndpoints(token: address)),
                client: ClientIdentity("cli")
            )
            profile.dialect.requests.placement = placement
            let issuer = Issuer(Issuer.Description(profile), tools: tools)
            let server = StandardServer(profile: profile, issuer: issuer, tools: tools)
            var refreshToken = try memory.sealing("rt-0", as: .refreshToken)
            for number in 1...3 {
                let outcome = await server.refresh(
                    RefreshRequest(
                        attempt: AttemptNumber(rawValue: UInt64(number)),
                        renewal: .refreshToken(refreshToken),
                        variant: .primary,
                        tokenEndpoint: address
                    )
                )
                let granted = try #require(outcome.granted, "\(lifetime): \(outcome)")
                #expect(try memory.text(of: granted.accessToken) == "at-\(number)")
                #expect(granted.lifetime.map { $0 > .zero } ?? true)
                refreshToken = granted.refreshToken ?? refreshToken
            }
            #expect(login.count == 3)
            await transport.shutDown()
            await endpoint.stop()
        }
    }
}
