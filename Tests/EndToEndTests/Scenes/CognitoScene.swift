// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// A user pool this project did not write, run for one suite.
struct MotoPool: SuiteTrait, TestScoping {
    static let script = ProviderScript("moto_cognito.py")

    @TaskLocal private static var pool: UserPool?

    /// The pool of the running suite, which must be one with this trait.
    static func current() throws -> UserPool {
        guard let pool else { throw ProviderScript.Failure.notRunning }
        return pool
    }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await MotoPool.script.whileRunning { work, state in
            try await MotoPool.$pool.withValue(UserPool(work: work, state: state), operation: function)
        }
    }
}

extension Trait where Self == MotoPool {
    static var motoPool: Self { MotoPool() }
}

/// An agent whose session `aws` belongs to the running pool.
struct CognitoScene {
    let pool: UserPool
    let agent: AgentUnderTest

    init(client: String = "public", flow: String = "password") async throws {
        pool = try MotoPool.current()
        let registration = pool.client(client)
        let secret = registration["client_secret"]?.string.map { "client_secret = \"\($0)\"" } ?? ""
        agent = try AgentUnderTest(
            configuration: """
                [session.aws]
                kind = "cognito"
                region = "\(pool.string("region"))"
                user_pool_id = "\(pool.string("user_pool_id"))"
                client_id = "\(registration["client_id"]?.string ?? "")"
                \(secret)
                endpoint = "\(pool.string("endpoint"))"
                auth_flow = "\(flow)"

                """
        )
        try await agent.start()
    }

    func get(_ arguments: String...) async throws -> String {
        let result = try await agent.tokenctl(["get", "aws"] + arguments)
        try #require(result.status == 0, "\(result.standardError) \(agent.log)")
        return result.line
    }

    /// Answers the line with which a login over the socket asks for the authenticator's code.
    func answer(_ line: Substring) async throws {
        let need = try #require(JSONValue(parsing: line.utf8).object)
        try #require(need["kind"]?.string == "one_time_code" && need["secret"]?.bool == true, "\(line)")
        let number = try #require(need["login"]?.string)
        let answer: JSONValue = ["value": .string(try await pool.code())]
        let path = "/v1/sessions/aws/login/\(number)"
        let reply = try await agent.socket.request("POST", path, body: answer.text)
        try #require(reply.status == 200, "\(reply.text)")
    }

    /// `tokenctl login` at a terminal.
    func logInAtTerminal(_ user: String) throws -> ProgramAtTerminal {
        try ProgramAtTerminal(
            [BuiltPrograms.client, "login", "aws", "--username", user],
            environment: agent.environment
        )
    }
}

extension UserPool {
    /// Returns the current code of dave's authenticator app.
    func code() async throws -> String {
        let output = try await MotoPool.script.run([work.path, "totp"]).standardOutput
        return output.split(separator: "\n").first.map(String.init) ?? ""
    }
}
