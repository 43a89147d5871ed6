// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

/// An agent whose session `sso` belongs to a stand-in for IAM Identity Center, and `reader`, a role made from it.
///
/// There is no published server to test with. The stand-in was written from the service models of Amazon's own library
/// and is tested with that library.
struct IdentityCenterScene {
    static let script = ProviderScript("sso_oidc.py")
    static let account = "111122223333"

    /// Whether Amazon's library for Python is installed.
    static let hasLibrary = Program.succeeds(
        "env PATH='\(TestEnvironment.searchPath)' python3 -c 'import boto3'"
    )

    let work: TemporaryDirectory
    let state: JSONObject
    let agent: AgentUnderTest

    /// Starts the stand-in with `options` and an agent with more lines of `sso` and more tables, then calls `body`.
    static func whileRunning(
        _ options: [String] = ["--access-ttl", "600"],
        session: String = "",
        more: String = "",
        _ body: (IdentityCenterScene) async throws -> Void
    ) async throws {
        try await script.whileRunning(options) { work, state in
            let endpoint = state["endpoint"]?.string ?? ""
            let agent = try AgentUnderTest(
                configuration: """
                    [agent]
                    get_timeout = "10s"

                    [session.sso]
                    kind = "aws_sso"
                    start_url = "\(state["start_url"]?.string ?? "")"
                    sso_oidc_endpoint = "\(endpoint)"
                    sso_endpoint = "\(endpoint)/"
                    \(session)

                    [session.reader]
                    kind = "aws_role"
                    from = "sso"
                    account_id = "\(account)"
                    role_name = "ReadOnly"

                    \(more)

                    """
            )
            try await agent.start()
            try await body(IdentityCenterScene(work: work, state: state, agent: agent))
        }
    }

    /// Logs in, with a browser that enters the code and says yes, or no.
    @discardableResult
    func logIn(denying: Bool = false) async throws -> ProgramResult {
        let login = try agent.startTokenctl(["login", "sso", "--json", "--no-browser"])
        let line = try await login.outputLine(containing: "user_code")
        let step = try #require(try JSONValue(parsing: line.utf8).object)
        let code = step["user_code"]?.string ?? ""
        let person =
            denying
            ? try await refuse(code)
            : try await ProviderScript("browser.py").run([
                "--state", work.path("sso-oidc/state.json"), "--device",
                step["verification_uri"]?.string ?? "", "--code", code,
            ])
        #expect(person.status == 0, "\(person)")
        let result = try await login.finish()
        if !denying { try #require(result.status == 0, "\(result) \(agent.log)") }
        return result
    }

    /// Denies the login on the page of the stand-in, where the scripted browser would approve it.
    private func refuse(_ code: String) async throws -> ProgramResult {
        let user = try #require(state["users"]?.array?.first?.object)
        let fields = ["username", "password"].map { "-d '\($0)=\(user[$0]?.string ?? "")'" }.joined(
            separator: " "
        )
        let endpoint = state["endpoint"]?.string ?? ""
        return try await agent.shell(
            """
            curl -sf -o /dev/null -d 'user_code=\(code)' -d decision=deny \(fields) \
            '\(endpoint)/device'
            """
        )
    }

    /// Runs `tokenctl aws` for a role of the login.
    func aws(_ role: String, account: String = account) async throws -> ProgramResult {
        try await agent.tokenctl("aws", "sso", "--account", account, "--role", role)
    }

    /// Sends a control command to the stand-in, such as `forget-clients`.
    func pull(_ lever: String...) async throws {
        let pulled = try await Self.script.run([work.path, "lever"] + lever)
        try #require(pulled.status == 0, "\(pulled)")
    }

    /// Stops the stand-in.
    func stopServer() async throws {
        try await Self.script.run([work.path, "stop"])
    }

    /// Pauses the stand-in with `STOP`, or resumes it with `CONT`.
    func signalServer(_ name: String) async throws {
        let pid = try #require(state["pid"]?.integer)
        let sent = try await agent.shell("kill -\(name) \(pid)")
        try #require(sent.status == 0, "\(sent)")
    }

    /// Returns the requests to `path` so far, without secrets.
    func requests(to path: String) throws -> [JSONObject] {
        let text = File.text(state["requests"]?.string ?? "") ?? ""
        return try text.split(separator: "\n").compactMap { line in
            let request = try JSONValue(parsing: line.utf8).object
            return request?["path"]?.string == path ? request : nil
        }
    }

    /// Returns the number of refreshes so far.
    func refreshes() throws -> Int {
        try requests(to: "/token").count { $0["body"]?.object?["grantType"]?.string == "refresh_token" }
    }

    /// Returns the access key that Amazon's own library gets from `command`.
    func libraryKey(by command: String) async throws -> ProgramResult {
        let file = try agent.home.write("[default]\ncredential_process = \(command)\n", to: "aws-config")
        let program = """
            import boto3
            credentials = boto3.Session().get_credentials().get_frozen_credentials()
            print(credentials.access_key, len(credentials.secret_key), len(credentials.token))
            """
        let script = try agent.home.write(program, to: "key.py")
        return try await agent.shell(
            """
            AWS_CONFIG_FILE='\(file)' AWS_EC2_METADATA_DISABLED=true \
            exec env PATH='\(BuiltPrograms.directory):\(TestEnvironment.searchPath)' python3 -B '\(script)'
            """
        )
    }
}
