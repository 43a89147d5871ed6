// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import Text

private let isMissing: Comment =
    "the scripts that run glewlwyd and moto are not here; set TOKENAGENT_IDP_DIR to their directory"

extension EndToEnd {
    /// moto as the Security Token Service, which checks the ID tokens of glewlwyd before it gives credentials.
    @Suite(
        .full,
        .enabled(if: Glewlwyd.isAvailable && STS.script.isAvailable, isMissing),
        .glewlwyd,
        .sts,
        .serialized
    )
    struct STSTests {
        @Test(.holds("187"))
        func `a login becomes the credentials of a role, which Amazon's own library uses`() async throws {
            let sts = try STS.current()
            let scene = try await Self.scene(sts)
            let before = sts.assumptions
            let early = try await scene.agent.tokenctl("aws", "deploy")
            #expect(early.status == 4 && early.complainsInOneLine, "\(early)")
            #expect(early.standardError.contains("tokenctl login work"), "\(early)")
            try await scene.logIn()
            let first = try await scene.agent.tokenctl("aws", "deploy")
            #expect(first.status == 0, "\(first) \(scene.agent.log)")
            let credentials = try #require(try JSONValue(parsing: first.standardOutput.utf8).object)
            #expect(credentials["Version"]?.integer == 1)
            for member in ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"] {
                #expect(credentials[member]?.string?.isEmpty == false, "\(member)")
            }
            let caller = try await sts.caller(by: "tokenctl aws deploy", of: scene.agent)
            #expect(caller.standardOutput.contains("assumed-role/deploy/laptop"), "\(caller)")
            #expect(
                try await scene.agent.tokenctl("aws", "deploy").standardOutput == first.standardOutput
            )
            #expect(sts.assumptions == before + 1, "\(sts.requests) \(scene.agent.log)")
            try await scene.agent.kill()
            try await scene.agent.start()
            #expect(
                try await scene.agent.tokenctl("aws", "deploy").standardOutput == first.standardOutput
            )
            #expect(try await scene.agent.tokenctl("refresh", "deploy").status == 0)
            #expect(
                try await scene.agent.tokenctl("aws", "deploy").standardOutput != first.standardOutput
            )
            #expect(sts.assumptions == before + 2)
            let logout = try await scene.agent.tokenctl("logout", "work")
            #expect(logout.status == 0, "\(logout)")
            #expect(try await scene.agent.tokenctl("aws", "deploy").status == 4)
            #expect(!scene.agent.log.contains(credentials["SecretAccessKey"]?.string ?? ""))
        }

        @Test(.holds("187")) func `a role has no token, and a token no role`() async throws {
            let sts = try STS.current()
            let scene = try await Self.scene(sts)
            try await scene.logIn()
            #expect(try await scene.agent.reaches("ready", "deploy"), "\(scene.agent.log)")
            for arguments in [
                ["get", "deploy"], ["get", "deploy", "--format", "header"],
                ["curl", "deploy", "--", "https://x.example/"],
                ["exec", "deploy", "--", "true"],
            ] {
                let result = try await scene.agent.tokenctl(arguments)
                #expect(result.status == 2 && result.complainsInOneLine, "\(arguments) \(result)")
                #expect(result.standardError.contains("tokenctl aws deploy"), "\(result)")
            }
            let refreshed = try await scene.agent.tokenctl("refresh", "deploy", "--json")
            #expect(refreshed.status == 0 && !refreshed.standardOutput.contains("AccessKeyId"))
            let report = try await scene.agent.tokenctl(
                "report",
                "deploy",
                "--status",
                "401",
                input: "x\n"
            )
            #expect(report.status == 2, "\(report)")
            let other = try await scene.agent.tokenctl("aws", "work")
            #expect(other.status == 2 && other.standardError.contains("tokenctl get work"), "\(other)")
        }

        /// The role and further keys of the session, and the exit status of `tokenctl aws`.
        @Test(arguments: [
            ("role/absent", "", Int32(2)), ("role/deploy", "duration = \"3h\"", 2),
            ("role/deploy", "subject_token_type = \"access_token\"", 5),
        ])
        func `a refusal is told, and tried again where that may help`(
            role: String,
            keys: String,
            status: Int32
        ) async throws {
            let sts = try STS.current()
            let scene = try await Self.scene(sts, role: role, keys)
            try await scene.logIn()
            let result = try await scene.agent.tokenctl("aws", "deploy")
            #expect(result.status == status && result.complainsInOneLine, "\(result)")
            #expect(try await scene.agent.status("work")["state"]?.string == "ready")
        }

        @Test(.holds("242"))
        func `Amazon's own library takes the ID token of a file, a kept one and that of a program`()
            async throws
        {
            let sts = try STS.current()
            let tokens = try TemporaryDirectory()
            let path = tokens.path("aws")
            let scene = try await GlewlwydScene(
                realm: "keep",
                flow: "browser",
                port: 18403,
                more: "[[file]]\npath = \"\(path)\"\nsession = \"work\"\nid_token = true\n"
            )
            try await scene.logIn()
            let before = sts.assumptions
            let variable = "AWS_WEB_IDENTITY_TOKEN_FILE"
            for words in [
                "\(variable)='\(path)'", "tokenctl exec work --id-token --file-env \(variable) --",
            ] {
                let caller = try await sts.caller(withTokenOf: words, of: scene.agent)
                #expect(caller.standardOutput.contains("assumed-role/deploy/"), "\(caller)")
            }
            #expect(sts.assumptions == before + 2)
        }

        /// An agent with the login `work` and the role `deploy` that is made from it.
        private static func scene(
            _ sts: STS,
            role: String = "role/deploy",
            _ keys: String = ""
        ) async throws -> GlewlwydScene {
            try await GlewlwydScene(
                realm: "keep",
                flow: "browser",
                port: 18403,
                more: """
                    [session.deploy]
                    kind = "aws_role"
                    role_arn = "arn:aws:iam::123456789012:\(role)"
                    role_session_name = "laptop"
                    sts_endpoint = "\(sts.endpoint)/"
                    from = "work"
                    \(keys)
                    """
            )
        }
    }
}

/// The running service.
struct STS: Sendable {
    static let script = ProviderScript("moto_sts.py")

    @TaskLocal fileprivate static var ofSuite: STS?

    let state: JSONObject

    var endpoint: String { state["endpoint"]?.string ?? "" }

    /// The number of requests for roles so far.
    var assumptions: Int {
        requests.count { $0.contains("\"Action\": \"AssumeRoleWithWebIdentity\"") }
    }

    /// The requests so far, one per line.
    var requests: [Substring] {
        File.text(state["requests"]?.string ?? "")?.split(separator: "\n") ?? []
    }

    /// The service of the running suite, which must be one with the trait `.sts`.
    static func current() throws -> STS {
        guard let ofSuite else { throw ProviderScript.Failure.notRunning }
        return ofSuite
    }

    /// Starts it beside the suite's glewlwyd, whose ID tokens it checks, and has `body` work with it.
    static func whileRunning(_ body: (STS) async throws -> Void) async throws {
        let server = try Glewlwyd.current()
        let options = ["--check", server.statePath, "--issuer", "keep"]
        try await script.whileRunning(options) { _, state in try await body(STS(state: state)) }
    }

    /// Returns the caller identity for a token file, as Amazon's library obtains it.
    ///
    /// `words` precede the program.
    func caller(withTokenOf words: String, of agent: AgentUnderTest) async throws -> ProgramResult {
        let python = state["python"]?.string ?? "python3"
        let program = """
            import boto3
            print(boto3.client("sts", region_name="us-east-1").get_caller_identity()["Arn"])
            """
        let file = try agent.home.write(program, to: "web-identity.py")
        let role = "AWS_ROLE_ARN=arn:aws:iam::123456789012:role/deploy"
        return try await agent.shell(
            "AWS_EC2_METADATA_DISABLED=true AWS_ENDPOINT_URL_STS='\(endpoint)' \(role) \(words) '\(python)' '\(file)'"
        )
    }

    /// Returns the caller identity for the credentials that `command` prints, as Amazon's library obtains it.
    func caller(by command: String, of agent: AgentUnderTest) async throws -> ProgramResult {
        let file = try agent.home.write("[default]\ncredential_process = \(command)\n", to: "aws-config")
        let python = state["python"]?.string ?? "python3"
        let program = """
            import boto3, botocore.config
            config = botocore.config.Config(proxies={})
            sts = boto3.client("sts", endpoint_url="\(endpoint)", region_name="us-east-1", config=config)
            print(sts.get_caller_identity()["Arn"])
            """
        try agent.home.write(program, to: "caller.py")
        return try await agent.shell(
            "AWS_CONFIG_FILE='\(file)' AWS_EC2_METADATA_DISABLED=true '\(python)' '\(agent.home.path("caller.py"))'"
        )
    }
}

/// Runs the service for one suite, which has to have a glewlwyd before it.
struct RunningSTS: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await STS.whileRunning { sts in
            try await STS.$ofSuite.withValue(sts, operation: function)
        }
    }
}

extension Trait where Self == RunningSTS {
    static var sts: Self { RunningSTS() }
}
