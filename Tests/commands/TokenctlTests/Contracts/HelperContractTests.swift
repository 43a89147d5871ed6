// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// One call of a helper, and its exact output.
struct HelperRow: Sendable, CustomTestStringConvertible {
    var arguments: [String]
    var input = ""
    var environment: [String: String] = [:]
    var output: String
    var status: Int32 = 0

    var testDescription: String { arguments.joined(separator: " ") + " " + input.prefix(60) }

    private static let pair = "username=oauth2\npassword=AT\npassword_expiry_utc=1700000000\n"
    private static let bearer = "capability[]=authtype\nauthtype=Bearer\ncredential=AT\nephemeral=1\n"
    private static let https = "protocol=https\nhost=git.example.com\n"
    private static let v1 = #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","#
    private static let status =
        #""status":{"token":"AT","expirationTimestamp":"2023-11-14T22:13:20Z"}}"# + "\n"

    private static func get(_ fields: String, _ output: String) -> HelperRow {
        HelperRow(arguments: ["git-credential", "get"], input: fields, output: output)
    }

    /// gitcredentials(7), git-credential(1).
    static let git: [HelperRow] = [
        get(https + "\n", pair),
        get(https + "capability[]=authtype\n\n", bearer + pair),
        get(https + "capability[]=authtype\nwwwauth[]=Basic realm=\"x\"\n\n", pair),
        get(
            https + "capability[]=authtype\nwwwauth[]=Basic realm=\"x\"\nwwwauth[]=Bearer\n\n",
            bearer + pair
        ),
        get(https + "capability[]=authtype\nwwwauth[]=Negotiate, Bearer realm=\"x\"\n\n", bearer + pair),
        get(https + "capability[]=authtype\nwwwauth[]=Basic realm=\"Bearer, x\"\n\n", pair),
        // An empty value clears the list (git-credential(1)).
        get(
            https + "wwwauth[]=Basic\ncapability[]=authtype\nwwwauth[]=\ncapability[]=state\n\n",
            bearer + pair
        ),
        get(https + "capability[]=authtype\ncapability[]=\ncapability[]=state\nstate[]=x.y\n\n", pair),
        get(
            https + "username=me\n\n",
            pair.replacing("oauth2", with: "me")
        ),
        HelperRow(
            arguments: ["git-credential", "--username", "you", "get"],
            input: https,
            output: pair.replacing("oauth2", with: "you")
        ),
        get(
            "protocol=https\nhost=named.example.com\n\n",
            pair.replacing("oauth2", with: "robot")
        ),
        get("protocol=https\nhost=other.org\n\n", ""),
        get("protocol=http\nhost=git.example.com\n\n", ""),
        get("", ""),
        HelperRow(arguments: ["git-credential", "store"], input: https + "password=x\n\n", output: ""),
        HelperRow(arguments: ["git-credential", "whatever"], input: https, output: ""),
        HelperRow(arguments: ["git-credential", "capability"], output: "version 0\ncapability authtype\n"),
    ]

    static let kubernetes: [HelperRow] = [
        HelperRow(arguments: ["kube-credential", "work"], output: v1 + status),
        HelperRow(
            arguments: ["kube-credential"],
            environment: [
                "KUBERNETES_EXEC_INFO":
                    #"{"apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"cluster":{"server":"https://git.example.com:6443"}}}"#
            ],
            output: v1.replacing("io/v1\"", with: "io/v1beta1\"") + status
        ),
        HelperRow(
            arguments: ["kube-credential"],
            environment: [
                "KUBERNETES_EXEC_INFO":
                    #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{"server":"https://GIT.example.com/k8s/clusters/c-1","tls-server-name":"x","certificate-authority-data":null,"config":{"a":1}},"interactive":false}}"#
            ],
            output: v1 + status
        ),
        HelperRow(
            arguments: ["kube-credential", "work"],
            environment: [
                "KUBERNETES_EXEC_INFO":
                    #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":true}}"#
            ],
            output: v1 + status
        ),
        HelperRow(
            arguments: ["kube-credential", "work"],
            environment: ["KUBERNETES_EXEC_INFO": #"{"apiVersion":"client.authentication.k8s.io/v2"}"#],
            output: "",
            status: 2
        ),
    ]

    static let docker: [HelperRow] = [
        HelperRow(
            arguments: ["docker-credential", "--username", "<token>", "get"],
            input: "git.example.com\n",
            output: "",
            status: 2
        ),
        HelperRow(
            arguments: ["docker-credential", "get"],
            input: "git.example.com\n",
            output: #"{"ServerURL":"git.example.com","Username":"oauth2","Secret":"AT"}"# + "\n"
        ),
        HelperRow(
            arguments: ["docker-credential", "get"],
            input: "https://named.example.com/v1/",
            output: #"{"ServerURL":"https://named.example.com/v1/","Username":"robot","Secret":"AT"}"# + "\n"
        ),
        HelperRow(
            arguments: ["docker-credential", "get"],
            input: "docker.io",
            output: "credentials not found in native keychain\n",
            status: 1
        ),
        HelperRow(
            arguments: ["docker-credential", "list"],
            output: #"{"https://git.example.com":"oauth2","https://named.example.com":"robot"}"# + "\n"
        ),
        HelperRow(arguments: ["docker-credential", "erase"], input: "git.example.com", output: ""),
        HelperRow(arguments: ["docker-credential", "erase"], input: "https://other.org/v1/\n", output: ""),
        HelperRow(arguments: ["docker-credential", "erase"], input: "", output: ""),
        HelperRow(
            arguments: ["docker-credential", "get"],
            input: "",
            output: "credentials not found in native keychain\n",
            status: 1
        ),
        HelperRow(
            arguments: ["docker-credential", "get"],
            input: "git.example.com:443/v2/name/image\r\n",
            output: #"{"ServerURL":"git.example.com:443/v2/name/image","Username":"oauth2","Secret":"AT"}"#
                + "\n"
        ),
        HelperRow(
            arguments: ["docker-credential", "store"],
            input: "{}",
            output: "cannot store a password: tokens come from the agent (run: tokenctl login NAME)\n",
            status: 1
        ),
        HelperRow(
            arguments: ["docker-credential", "version"],
            output: "docker-credential-tokenagent (tokenagent) 0.1.0\n"
        ),
    ]

    static let others: [HelperRow] = [
        HelperRow(arguments: ["terraform", "get", "git.example.com"], output: #"{"token":"AT"}"# + "\n"),
        HelperRow(arguments: ["terraform", "get", "other.org"], output: "{}\n"),
        HelperRow(arguments: ["terraform", "store", "git.example.com"], input: "{}", output: "", status: 2),
        HelperRow(arguments: ["terraform", "forget", "git.example.com"], output: "", status: 2),
        HelperRow(
            arguments: ["google", "work"],
            output: #"{"version":1,"success":true,"token_type":"urn:ietf:params:oauth:token-type:id_token","#
                + #""id_token":"AT","expiration_time":1700000000}"# + "\n"
        ),
        HelperRow(
            arguments: ["google", "work", "--access-token"],
            output: #"{"version":1,"success":true,"token_type":"urn:ietf:params:oauth:token-type:jwt","#
                + #""id_token":"AT","expiration_time":1700000000}"# + "\n"
        ),
        HelperRow(
            arguments: ["bazel", "get"],
            input: #"{"uri":"https://git.example.com/x"}"#,
            output: #"{"headers":{"Authorization":["Bearer AT"]},"expires":"2023-11-14T22:13:20Z"}"# + "\n"
        ),
        HelperRow(arguments: ["bazel", "get"], input: #"{"uri":"https://other.org"}"#, output: "{}\n"),
        HelperRow(arguments: ["bazel", "get"], input: #"{"uri":"http://git.example.com"}"#, output: "{}\n"),
        HelperRow(arguments: ["bazel", "get"], input: "", output: "", status: 2),
        HelperRow(arguments: ["keyring", "get", "https://git.example.com/simple", "me"], output: "AT\n"),
        HelperRow(
            arguments: ["keyring", "--mode=creds", "--output=json", "get", "https://git.example.com/simple"],
            output: #"{"username":"oauth2","password":"AT"}"# + "\n"
        ),
        HelperRow(
            arguments: ["keyring", "--mode", "creds", "get", "git.example.com", "me"],
            output: "me\nAT\n"
        ),
        HelperRow(arguments: ["keyring", "get", "https://other.org", "me"], output: "", status: 1),
        HelperRow(
            arguments: ["goauth", "https://git.example.com/mod/@v/list"],
            output: "https://git.example.com\n\nAuthorization: Bearer AT\n\n"
        ),
        HelperRow(
            arguments: ["goauth"],
            output: "https://git.example.com\n\nAuthorization: Bearer AT\n\n"
                + "https://named.example.com\n\nAuthorization: Bearer AT\n\n"
        ),
        HelperRow(arguments: ["goauth", "https://other.org"], output: ""),
    ]
}

/// The exact output of the helpers for other programs, tested without these programs.
@Suite struct HelperContractTests {
    private static let work = #"{"session":"work","hosts":["git.example.com","*.wild.example"]}"#
    private static let robot = #"{"session":"robot","hosts":["robot@named.example.com"]}"#
    private static let token =
        #"{"session":"work","access_token":"AT","expires_at":1700000000,"expires_in":60}"#

    /// Returns an agent with two sessions whose every token is `AT`, or whose token requests fail with `failure`.
    private func agent(_ failure: (Int, String)? = nil) throws -> ScriptedAgent {
        try ScriptedAgent(responding: { request in
            let line = request.prefix { $0 != "\r\n" }
            if line.contains("/token") {
                return failure.map { .answer($0.1, status: $0.0) } ?? .answer(Self.token)
            }
            if line.contains("/sessions/work ") { return .answer(Self.work) }
            if line.contains("/sessions/robot ") { return .answer(Self.robot) }
            return .answer(#"{"sessions":[\#(Self.work),\#(Self.robot)]}"#)
        })
    }

    private func run(
        _ program: [String],
        _ agent: ScriptedAgent,
        _ input: String,
        _ more: [String: String] = [:]
    ) async throws -> ProgramResult {
        let base = ["TOKENAGENT_SOCK": agent.socket, "TOKENAGENT_AUTOSTART": "0", "HOME": "/nonexistent"]
        return try await Program.run(program, environment: base.merging(more) { $1 }, input: input)
    }

    @Test(arguments: HelperRow.git + HelperRow.kubernetes + HelperRow.docker + HelperRow.others)
    func `the answer is what the contract says`(row: HelperRow) async throws {
        let result = try await run(
            [BuiltPrograms.client] + row.arguments,
            agent(),
            row.input,
            row.environment
        )
        #expect(result.standardOutput == row.output)
        #expect(result.status == row.status)
        // A warning would be read as part of the output, or would confuse the user.
        #expect(result.standardError.isEmpty == (row.status != 2))
    }

    private static let over =
        #"{"error":{"code":"login_required","message":"It is over.","session":"work","remedy":"tokenctl login work"}}"#
    private static let line = "work: It is over (run: tokenctl login work)"

    /// Arguments, standard input, standard output, whether standard error has the message too, and exit status.
    private static let failures: [([String], String, String, Bool, Int32)] = [
        (["git-credential", "get"], "protocol=https\nhost=git.example.com\n\n", "quit=1\n", true, 0),
        (["kube-credential", "work"], "", "", true, 4),
        (["docker-credential", "get"], "git.example.com", line + "\n", true, 1),
        (["terraform", "get", "git.example.com"], "", "", true, 4),
        (["bazel", "get"], #"{"uri":"https://git.example.com"}"#, "", true, 4),
        (["keyring", "get", "git.example.com", "me"], "", "", true, 4),
        (["goauth", "https://git.example.com"], "", "", true, 4),
        (["goauth"], "", "", false, 0),
        (
            ["google", "work"], "",
            #"{"version":1,"success":false,"code":"login_required","message":"\#(line)"}"# + "\n", false, 0
        ),
    ]

    @Test(arguments: failures)
    func `a session that is over is told as the contract says`(
        arguments: [String],
        input: String,
        output: String,
        isTold: Bool,
        status: Int32
    ) async throws {
        let result = try await run([BuiltPrograms.client] + arguments, agent((401, Self.over)), input)
        #expect(result.standardOutput == output)
        #expect(
            result.standardError == (isTold ? "tokenctl: work: It is over\n  Run: tokenctl login work\n" : "")
        )
        #expect(result.status == status)
    }

    @Test(arguments: [
        ("git-credential-tokenagent", ["get"], "protocol=https\nhost=git.example.com\n\n", "password=AT\n"),
        ("docker-credential-tokenagent", ["get"], "git.example.com", #""Secret":"AT""#),
        ("terraform-credentials-tokenagent", ["get", "git.example.com"], "", #"{"token":"AT"}"#),
        ("keyring", ["get", "git.example.com", "me"], "", "AT\n"),
        ("bazel-credential-tokenagent", ["get"], #"{"uri":"https://git.example.com/x"}"#, "Bearer AT"),
    ])
    func `a link is called by the name its program looks for`(
        name: String,
        arguments: [String],
        input: String,
        output: String
    ) async throws {
        let directory = try TemporaryDirectory()
        try #require(Program.succeeds("ln -s '\(BuiltPrograms.client)' '\(directory.path(name))'"))
        let result = try await run([directory.path(name)] + arguments, agent(), input)
        #expect(result.status == 0)
        #expect(result.standardOutput.contains(output))
    }

    @Test func `an erased credential is reported, whichever way git was given it`() async throws {
        for secret in ["password=AT", "authtype=Bearer\ncredential=AT"] {
            let agent = try agent()
            let input = "protocol=https\nhost=git.example.com\nusername=oauth2\n\(secret)\n\n"
            #expect(
                try await run([BuiltPrograms.client, "git-credential", "erase"], agent, input).status == 0
            )
            let report = try #require(agent.requests.last)
            #expect(report.hasPrefix("POST /v1/sessions/work/report HTTP/1.1\r\n"))
            let body = #"{"token":"AT","status":401,"host":"git.example.com:443"}"#
            #expect(report.hasSuffix("\r\n\r\n" + body))
        }
    }

    @Test func `two sessions for one server are a mistake to be told`() async throws {
        let twice = try ScriptedAgent(responding: { _ in
            .answer(#"{"sessions":[\#(Self.work),{"session":"home","hosts":["git.example.com"]}]}"#)
        })
        let result = try await run([BuiltPrograms.client, "terraform", "get", "git.example.com"], twice, "")
        #expect(result.status == 2 && result.standardOutput.isEmpty)
        #expect(
            result.standardError == "tokenctl: hosts of work and home both match git.example.com:443\n"
                + "  Set: hosts so that only one session matches, then run tokenctl reload\n"
        )
    }
}
