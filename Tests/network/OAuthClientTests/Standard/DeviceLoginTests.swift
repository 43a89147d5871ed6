// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

struct DeviceLoginTests {
    static let device = "https://tokens.example/device"
    static let token = "https://tokens.example/token"
    static let granted = ScriptedExchange.Answer.json(#"{"access_token":"at","refresh_token":"rt"}"#)

    static func error(_ code: String) -> ScriptedExchange.Answer {
        .json(#"{"error":"\#(code)"}"#, status: 400)
    }

    static func start(_ changes: [String: JSONValue] = [:]) -> String {
        TestIssuer.changed(
            [
                "device_code": "dc", "user_code": "ABCD-EFGH",
                "verification_uri": "https://tokens.example/go",
                "verification_uri_complete": "https://tokens.example/go?code=ABCD-EFGH", "expires_in": 600,
                "interval": 7,
            ],
            by: changes
        ).text
    }

    func logIn(
        _ start: String = start(),
        polls: [ScriptedExchange.Answer] = [granted]
    ) async throws -> (LoginOutcome, Bench, ScriptedPerson) {
        let bench = try Bench(.fixed())
        bench.exchange.expect(DeviceLoginTests.device, start)
        for poll in polls { bench.exchange.expect(DeviceLoginTests.token, poll) }
        let person = ScriptedPerson(memory: bench.memory)
        let outcome = await bench.server.logIn(LoginRequest(flow: .device), conversation: person)
        return (outcome, bench, person)
    }

    @Test(.holds("101", "O46", "O47"))
    func `the person sees the code, and the first poll waits the interval`() async throws {
        let (outcome, bench, person) = try await logIn()
        #expect(outcome.granted != nil)
        #expect(
            person.steps == [
                .userCode(
                    code: "ABCD-EFGH",
                    verificationURI: "https://tokens.example/go",
                    complete: "https://tokens.example/go?code=ABCD-EFGH",
                    expiresIn: .seconds(600)
                )
            ]
        )
        #expect(bench.clock.slept == [.seconds(7)])
        let sent = bench.exchange.sent
        #expect(sent[0].form == ["scope": "api", "client_id": "cli"])
        #expect(
            sent[1].form == [
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "dc",
                "client_id": "cli",
            ]
        )
    }

    /// The server's `interval`, and the pause before the first poll.
    @Test(
        .holds("101", "O46"),
        arguments: [
            (JSONValue.null, Int64(5)), (1, 1), ("3", 3), (0, 1), (-4, 1), (.number("2.9"), 2), (10_000, 300),
            ("soon", 5),
        ]
    )
    func `the interval is honoured within reason`(interval: JSONValue, seconds: Int64) async throws {
        let (_, bench, _) = try await logIn(DeviceLoginTests.start(["interval": interval]))
        #expect(bench.clock.slept == [.seconds(seconds)])
    }

    @Test(.holds("101", "O46")) func `slow_down adds five seconds for good`() async throws {
        let polls = ["authorization_pending", "slow_down", "authorization_pending", "slow_down"].map(
            DeviceLoginTests.error
        )
        let (outcome, bench, _) = try await logIn(polls: polls + [DeviceLoginTests.granted])
        #expect(outcome.granted != nil)
        #expect(bench.clock.slept == [7, 7, 12, 12, 17].map { .seconds($0) })
    }

    @Test(.holds("101", "O46")) func `a server in trouble is asked less and less often`() async throws {
        let trouble: [ScriptedExchange.Answer] = [
            .failure(.unreachable("x")), .failure(.ambiguous("x")), .json("", status: 503),
            .json("", status: 503, headers: ["retry-after": "100"]),
        ]
        let (outcome, bench, _) = try await logIn(polls: trouble + [DeviceLoginTests.granted])
        #expect(outcome.granted != nil)
        #expect(bench.clock.slept == [7, 14, 28, 56, 100].map { .seconds($0) })
    }

    @Test(.holds("101")) func `a server that limits its requests is polled when it says`() async throws {
        let polls: [ScriptedExchange.Answer] = [
            .json("", status: 429, headers: ["retry-after": "2"]), Self.error("authorization_pending"),
            .json(#"{"error":"rate_limited"}"#, status: 429), Self.error("authorization_pending"),
            .json("<html>", status: 429, headers: ["retry-after": "3600"]),
        ]
        let (outcome, bench, _) = try await logIn(polls: polls + [Self.granted])
        #expect(outcome.granted != nil, "\(outcome)")
        // The time that is named counts once; without one it is as with slow_down.
        #expect(bench.clock.slept == [7, 2, 7, 12, 12, 300].map { .seconds($0) })
    }

    @Test(arguments: [
        #"{"message":"authorization_pending"}"#, #"{"error":"BadRequest","message":"authorization_pending"}"#,
        #"{"error":{"code":"authorization_pending"}}"#, #"{"errors":[{"message":"authorization_pending"}]}"#,
    ])
    func `that a person has not answered yet may be said where the message belongs`(
        body: String
    ) async throws {
        let (outcome, _, _) = try await logIn(polls: [.json(body, status: 400), Self.granted])
        #expect(outcome.granted != nil, "\(outcome)")
    }

    @Test(.holds("101", "O48")) func `polling stops when the code expires`() async throws {
        let polls = Array(repeating: DeviceLoginTests.error("authorization_pending"), count: 4)
        let (outcome, bench, _) = try await logIn(DeviceLoginTests.start(["expires_in": 30]), polls: polls)
        #expect(outcome.failure?.code == "expired_token")
        #expect(outcome.failure?.kind == .interactionRequired)
        #expect(bench.exchange.isExhausted)
        #expect(bench.exchange.posts(to: DeviceLoginTests.token).count == 4)
    }

    @Test func `a server away until the code expires is what the person hears of`() async throws {
        let polls = Array(repeating: ScriptedExchange.Answer.failure(.unreachable("x")), count: 5)
        let (outcome, bench, _) = try await logIn(DeviceLoginTests.start(["expires_in": 200]), polls: polls)
        #expect(outcome.failure?.kind == .unreachable)
        #expect(bench.clock.slept == [7, 14, 28, 56, 60].map { .seconds($0) })
    }

    @Test(
        .holds("101", "O46", "O48"),
        arguments: [
            ("access_denied", FailureClass.interactionRequired), ("expired_token", .interactionRequired),
            ("invalid_grant", .grantDead), ("invalid_client", .clientRejected),
            ("something_new", .unexplained),
        ]
    )
    func `any other error ends the login at once`(code: String, kind: FailureClass) async throws {
        let (outcome, bench, _) = try await logIn(polls: [DeviceLoginTests.error(code)])
        #expect(outcome.failure?.kind == kind)
        #expect(bench.exchange.posts(to: DeviceLoginTests.token).count == 1)
    }

    @Test(
        .holds("101", "O47"),
        arguments: [
            ["verification_uri": "http://tokens.example/go"], ["verification_uri": "javascript:alert(1)"],
            ["verification_uri": "https://tokens.example/\u{1B}]8;;"], ["verification_uri": .null],
            ["user_code": .null],
            ["user_code": "\u{1B}[2J"], ["user_code": ""],
            ["user_code": .string(String(repeating: "A", count: 65))], ["device_code": .null],
        ] as [[String: JSONValue]]
    )
    func `an answer nobody should follow is refused`(changes: [String: JSONValue]) async throws {
        let (outcome, _, person) = try await logIn(DeviceLoginTests.start(changes), polls: [])
        #expect(outcome.failure?.kind == .misbehaved)
        #expect(person.steps.isEmpty)
    }

    @Test(.holds("O47")) func `a bad shortcut is left out`() async throws {
        let changes: [String: JSONValue] = ["verification_uri_complete": "javascript:alert(1)"]
        let (outcome, _, person) = try await logIn(DeviceLoginTests.start(changes))
        #expect(outcome.granted != nil)
        guard case .userCode(_, _, let complete, _) = person.steps.first else {
            Issue.record("no code shown")
            return
        }
        #expect(complete == nil)
    }

    @Test func `a refusal of the device endpoint is told`() async throws {
        let bench = try Bench(.fixed())
        bench.exchange.expect(DeviceLoginTests.device, status: 401, #"{"error":"invalid_client"}"#)
        let person = ScriptedPerson(memory: bench.memory)
        let outcome = await bench.server.logIn(LoginRequest(flow: .device), conversation: person)
        #expect(outcome.failure?.kind == .clientRejected)
    }
}
