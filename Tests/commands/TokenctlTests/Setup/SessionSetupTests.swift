// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The changes that `tokenctl setup --undo` removes if several sessions are set up.
struct SessionSetupTests {
    private let home: TemporaryDirectory
    private let tokenctl: TokenctlRun

    init() throws {
        home = try TemporaryDirectory()
        let one = #"{"session":"one","hosts":["a.example"]}"#
        let two = #"{"session":"two","hosts":["b.example","*.corp.example"]}"#
        tokenctl = try TokenctlRun(responding: { request in
            for (name, session) in [("one", one), ("two", two)] where request.contains("/sessions/\(name) ") {
                return .answer(session)
            }
            return .answer(#"{"sessions":[\#(one),\#(two)]}"#)
        })
    }

    private func setUp(_ options: String) async throws -> ProgramResult {
        let words = options.split(separator: " ").map(String.init)
        return try await tokenctl.run(["setup"] + words, environment: ["HOME": home.path])
    }

    /// The program, its file, the options for each of two sessions, and the text in the file that differs between them.
    @Test(arguments: [
        ("git", ".gitconfig", ["", ""], ["https://a.example", "https://b.example"]),
        ("bazel", ".bazelrc", ["", ""], ["=a.example=", "=b.example="]),
        ("docker", ".docker/config.json", ["", ""], ["a.example", "b.example"]),
        (
            "cargo", ".cargo/config.toml", ["--session one --name x", "--session two --name y"],
            ["registries.x", "registries.y"]
        ),
        (
            "aws", ".aws/config", ["--session one --name x", "--session two --name one"],
            ["profile x", "profile one"]
        ),
    ])
    func `what belongs to one session goes alone, and without its name all goes`(
        client: String,
        file: String,
        options: [String],
        signs: [String]
    ) async throws {
        for option in options {
            let made = try await setUp("\(client) \(option)")
            #expect(made.status == 0, "\(made)")
        }
        let both = try #require(File.text(home.path(file)))
        #expect(signs.allSatisfy { both.contains($0) }, "\(both)")
        let undone = try await setUp("\(client) --undo --session one")
        #expect(undone.status == 0 && undone.standardOutput.contains("Undone: "), "\(undone)")
        let left = try #require(File.text(home.path(file)))
        #expect(!left.contains(signs[0]) && left.contains(signs[1]), "\(left)")
        #expect(try await setUp("\(client) --undo").status == 0)
        #expect(home.names() == [])
    }

    @Test func `a server of docker's that a pattern covers is its session's`() async throws {
        for host in ["a.example", "x.corp.example"] {
            #expect(try await setUp("docker --host \(host)").status == 0)
        }
        let file = home.path(".docker/config.json")
        let made = File.text(file)
        let unknown = try await setUp("docker --undo --session nobody")
        #expect(unknown.status == 7 && unknown.standardError.contains("--host"), "\(unknown)")
        #expect(try await setUp("docker --undo --session one --host x.corp.example").status == 0)
        #expect(File.text(file) == made)
        #expect(try await setUp("docker --undo --session two").status == 0)
        #expect(File.text(file)?.contains("x.corp.example") == false)
        #expect(File.exists(home.path(".local/bin/docker-credential-tokenagent")))
        #expect(try await setUp("docker --undo --session one").status == 0)
        #expect(home.names() == [])
    }

    @Test(arguments: ["pip", "uv", "go", "terraform", "mcp", "systemd", "devcontainer"])
    func `what is set up once for all takes back nothing for one session or server`(
        client: String
    ) async throws {
        for option in ["--session one", "--host a.example"] {
            let result = try await setUp("\(client) --undo \(option)")
            #expect(result.status == 2 && result.standardError.contains("does not support --"), "\(result)")
        }
    }

    @Test func `each of several hosts gets its forwarding, and loses it alone`() async throws {
        try home.makeDirectory(".ssh")
        let file = try home.write("Compression yes\n", to: ".ssh/config")
        // Nobody has to listen there.
        try File.makeSocket(home.path("x.sock"))
        let sockets = "--local \(home.path("x.sock")) --remote /run/y.sock"
        let made = try await setUp("ssh --host far --host near \(sockets)")
        #expect(made.status == 0, "\(made)")
        let both = try #require(File.text(file))
        #expect(both.contains("Host far\n") && both.contains("Host near\n"), "\(both)")
        #expect(try await setUp("ssh --undo --host far").status == 0)
        let left = try #require(File.text(file))
        #expect(!left.contains("Host far\n") && left.contains("Host near\n"), "\(left)")
        #expect(try await setUp("ssh --undo").status == 0)
        #expect(File.text(file) == "Compression yes\n")
    }

    @Test func `of two addresses at one server the one that is named goes`() async throws {
        let file = home.path("mcp.json")
        for (name, path) in [("x", "one"), ("y", "two")] {
            let url = "https://h.example/\(path)"
            #expect(try await setUp("mcp --file \(file) --name \(name) --url \(url)").status == 0)
        }
        #expect(try await setUp("mcp --undo --file \(file) --url https://h.example/two").status == 0)
        let left = try #require(File.text(file))
        #expect(left.contains("/one") && !left.contains("/two"), "\(left)")
    }

    @Test func `a file for Google's programs is that of the session with just this name`() async throws {
        let file = home.path("google.json")
        let audience = "--audience //iam.googleapis.com/p"
        #expect(try await setUp("gcloud --session one2 --file \(file) \(audience)").status == 0)
        #expect(try await setUp("gcloud --undo --session one --file \(file)").status == 0)
        #expect(File.exists(file))
        #expect(try await setUp("gcloud --undo --session one2 --file \(file)").status == 0)
        #expect(!File.exists(file))
    }

    @Test func `two sessions for one server of git's have to be chosen from`() async throws {
        let rivals = try TokenctlRun(responding: { _ in
            let hosts = #""hosts":["h.example"]"#
            return .answer(#"{"sessions":[{"session":"b",\#(hosts)},{"session":"a",\#(hosts)}]}"#)
        })
        let environment = ["HOME": home.path]
        let result = try await rivals("setup", "git", environment: environment)
        let reason = "hosts of a and b both match h.example"
        #expect(result.status == 2 && result.standardError.contains(reason), "\(result)")
        let chosen = try await rivals("setup", "git", "--session", "b", environment: environment)
        #expect(chosen.status == 0, "\(chosen)")
    }

    @Test(arguments: [
        (
            ".aws/credentials", "[x]\naws_access_key_id = AKIA\n", "aws --session one --name x",
            "aws_access_key_id"
        ),
        (".aws/config", "[profile x]\nrole_arn = a\n", "aws --session one --name x", "role_arn"),
        (".docker/config.json", "{\"credHelpers\": {\"z\": \"y\",}}", "docker", "it is not JSON"),
        (".gitconfig", "", "git --name x", "setup git does not support --name\n  Retry: without --name\n"),
        (".gitconfig", "", "git --session one --url https://a.example", "setup git does not support --url"),
    ])
    func `what the program would not use, or not read, is refused and changes nothing`(
        file: String,
        text: String,
        options: String,
        message: String
    ) async throws {
        try home.makeDirectory(".aws")
        try home.makeDirectory(".docker")
        try home.write(text, to: file)
        let refused = try await setUp(options)
        #expect(refused.status == 2 && refused.standardError.contains(message), "\(refused)")
        #expect(File.text(home.path(file)) == text)
        #expect(home.names(in: ".aws").count + home.names(in: ".docker").count <= 1)
    }
}
