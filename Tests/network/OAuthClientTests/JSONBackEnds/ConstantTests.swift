// SPDX-License-Identifier: MIT

import ServerSettings
import TestSupport
import Testing
import Text
import TokenCore

@testable import OAuthClient

/// Constant members and headers that every request includes.
struct ConstantTests {
    private func bench(
        _ constants: JSONConstants,
        commands: ScriptedCommands = ScriptedCommands()
    ) throws -> KindBench {
        let backEnd = JSONBackEnd(
            loginURL: JSONServerTests.login,
            refreshURL: JSONServerTests.refresh,
            logoutURL: JSONServerTests.logout,
            rules: .ecall,
            constants: constants
        )
        let profile = ServerProfile(kind: .json(backEnd), client: ClientIdentity(""), flow: .password)
        #expect(profile.problems == [])
        return try KindBench(profile, commands: commands)
    }

    private static let answer = #"{"accessToken":"at-2","refreshToken":"rt-2"}"#

    @Test func `login, refresh and logout carry members and headers`() async throws {
        let bench = try bench(
            JSONConstants(
                members: [
                    .init("type", .text("li\"nux")), .init("build", .integer(-7)),
                    .init("on", .boolean(true)),
                    .init("device", .object([.init("os", .object([.init("x", .boolean(false))]))])),
                ],
                headers: [.init("X-App", .text("demo 1"))]
            )
        )
        bench.exchange.expect(JSONServerTests.login, ConstantTests.answer)
        bench.exchange.expect(JSONServerTests.refresh, ConstantTests.answer)
        bench.exchange.expect(JSONServerTests.logout, status: 204, "")
        #expect(try await bench.logIn().granted != nil)
        #expect(try await bench.refresh().granted != nil)
        #expect(try await bench.revoke() == .revoked)
        for sent in bench.exchange.sent {
            #expect(sent.headers["x-app"] == "demo 1")
            #expect(sent.json?["type"] == "li\"nux")
            #expect(sent.json?["build"] == -7)
            #expect(sent.json?["on"] == true)
            #expect(sent.json?["device"] == ["os": ["x": false]])
        }
        #expect(bench.exchange.sent.first?.json?["password"] == "alice-password")
    }

    @Test func `a command runs once, and again after a refusal that is not about the session`() async throws {
        let commands = ScriptedCommands(prints: "key-1\n")
        let bench = try bench(
            JSONConstants(headers: [.init("X-Key", .secret(.command(["pass", "key"])))]),
            commands: commands
        )
        for _ in 0..<2 {
            bench.exchange.expect(JSONServerTests.refresh, ConstantTests.answer)
            #expect(try await bench.refresh().granted != nil)
        }
        #expect(bench.exchange.sent.allSatisfy { $0.headers["x-key"] == "key-1" })
        #expect(commands.commands == [["pass", "key"]])
        for (status, body) in [
            (401, #"{"code":"ErrRefreshTokenExpired"}"#), (503, ""), (403, #"{"code":"app"}"#),
        ] {
            bench.exchange.expect(JSONServerTests.refresh, status: status, body)
            #expect(try await bench.refresh().failure != nil)
            #expect(commands.commands.count == 1)
        }
        bench.exchange.expect(JSONServerTests.refresh, ConstantTests.answer)
        #expect(try await bench.refresh().granted != nil)
        #expect(commands.commands.count == 2)
    }

    @Test func `a file is read for each request`() async throws {
        let files = try TemporaryDirectory()
        let path = try files.write("first\r\n", to: "secret")
        let bench = try bench(JSONConstants(members: [.init("secret", .secret(.file(path)))]))
        bench.exchange.expect(JSONServerTests.refresh, ConstantTests.answer)
        #expect(try await bench.refresh().granted != nil)
        _ = try files.write("sec\"ond", to: "secret")
        bench.exchange.expect(JSONServerTests.refresh, ConstantTests.answer)
        #expect(try await bench.refresh().granted != nil)
        #expect(bench.exchange.sent.map { $0.json?["secret"] } == ["first", "sec\"ond"])
    }

    @Test(arguments: [
        ("", true, "headers.X.command pass: is empty"),
        ("a\nb", true, "headers.X: the secret must be up to 4096 bytes"),
        ("a\u{E9}", true, "headers.X: the secret must be"), (" a", true, "headers.X: the secret must be"),
        (String(repeating: "a", count: 4_097), true, "headers.X: the secret must be"),
        (
            String(repeating: "a", count: 8_193), false,
            "members.x: the secret must be up to 8192 bytes of UTF-8"
        ),
    ])
    func `a secret that no request can carry is told without it`(
        output: String,
        isHeader: Bool,
        words: String
    ) async throws {
        let source = JSONConstants.Value.secret(.command(["pass"]))
        let constants =
            isHeader
            ? JSONConstants(headers: [.init("X", source)]) : JSONConstants(members: [.init("x", source)])
        let bench = try bench(constants, commands: ScriptedCommands(prints: output))
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.kind == (output.isEmpty ? .helperFailed : .misconfigured))
        #expect(failure.message.hasPrefix(words), "\(failure.message)")
        #expect(bench.exchange.sent.isEmpty)
    }

    @Test func `a command that fails is told by its key`() async throws {
        let bench = try bench(
            JSONConstants(members: [.init("x", .secret(.command(["pass", "x"])))]),
            commands: ScriptedCommands(prints: "no", status: 3)
        )
        let failure = try #require(try await bench.refresh().failure)
        #expect(failure.message == "members.x.command: pass: exit status 3")
    }

    @Test func `constants are no secrets, and secrets are none of the constants`() {
        let names = ExchangeSecrets.ParameterNames(
            .json(
                JSONBackEnd(
                    loginURL: nil,
                    refreshURL: JSONServerTests.refresh,
                    logoutURL: nil,
                    constants: JSONConstants(members: [
                        .init("deviceId", .text("device-1")), .init("key", .secret(.file("/x"))),
                        .init("inner", .object([.init("os", .text("linux"))])),
                    ])
                )
            )
        )
        #expect(names.harmless.isSuperset(of: ["deviceId", "os", "username"]))
        #expect(names.harmless.isDisjoint(with: ["key", "inner", "password"]))
    }
}
