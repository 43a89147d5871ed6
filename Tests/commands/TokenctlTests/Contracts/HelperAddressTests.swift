// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The servers for which helpers print a token, with unusual forms of their addresses.
@Suite struct HelperAddressTests {
    private static let token =
        #"{"session":"work","access_token":"AT","expires_at":1700000000,"expires_in":60}"#

    /// Returns an agent whose session `work` is for `hosts`.
    private func tokenctl(hosts: [String] = ["git.example.com"]) throws -> TokenctlRun {
        let names = hosts.map { "\"\($0)\"" }.joined(separator: ",")
        let work = #"{"session":"work"\#(hosts.isEmpty ? "" : #","hosts":[\#(names)]"#)}"#
        return try TokenctlRun(responding: { request in
            if request.contains("/token") { return .answer(Self.token) }
            return .answer(request.contains("/sessions/work ") ? work : #"{"sessions":[\#(work)]}"#)
        })
    }

    /// The arguments of each helper, and its standard input for the server of `url`.
    private static let helpers: [(arguments: [String], input: @Sendable (String) -> String)] = [
        (["docker-credential", "get"], { $0 }), (["bazel", "get"], { #"{"uri":"\#($0)"}"# }),
        (["keyring", "get", "URL", "me"], { _ in "" }), (["goauth", "URL"], { _ in "" }),
        (["kube-credential"], { _ in "" }),
    ]

    private func ask(
        _ url: String,
        _ index: Int,
        _ run: TokenctlRun,
        _ more: [String] = []
    ) async throws
        -> ProgramResult
    {
        let (arguments, input) = Self.helpers[index]
        let escaped = url.replacing("\\", with: "\\\\")
        let info =
            #"{"apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{"server":"\#(escaped)"}}}"#
        return try await run.run(
            arguments.map { $0 == "URL" ? url : $0 } + more,
            input: input(arguments[0] == "bazel" ? escaped : url),
            environment: ["KUBERNETES_EXEC_INFO": info]
        )
    }

    @Test(
        .holds("160"),
        arguments: [
            "http://git.example.com/", "evil.org/x://git.example.com",
            #"https://evil.org\\@git.example.com/"#,
            "https://git.example.com@evil.org/", "https://evil.org?@git.example.com",
            "https://evil.org#.git.example.com", "git.example.com\nhost=evil.org",
            "https://git.example.com.evil.org/", "https://evil.org%2F@git.example.com%2F",
            "ftp://git.example.com/",
            "https://\u{212A}.git.example.com/", "HTTP://git.example.com", "https://a@b@git.example.com/",
            "https:git.example.com",
        ]
    )
    func `only the server itself, by a way that nobody else reads`(url: String) async throws {
        for index in Self.helpers.indices {
            let result = try await ask(url, index, tokenctl())
            #expect(!result.standardOutput.contains("AT"), "\(Self.helpers[index].arguments) \(result)")
        }
    }

    @Test(arguments: ["https://git.example.com/x", "HTTPS://GIT.EXAMPLE.COM:443/x?y#z"])
    func `the server is known by any plain spelling`(url: String) async throws {
        for index in Self.helpers.indices {
            let result = try await ask(url, index, tokenctl())
            #expect(result.standardOutput.contains("AT"), "\(Self.helpers[index].arguments) \(result)")
        }
    }

    @Test(arguments: [0, 1, 2, 4])
    func `without TLS this machine alone is served`(index: Int) async throws {
        let run = try tokenctl(hosts: ["localhost", "127.0.0.1", "127.0.0.1.evil.org"])
        #expect(try await ask("http://127.0.0.1:5000/", index, run).standardOutput.contains("AT"))
        #expect(try await ask("http://localhost/", index, run).standardOutput.contains("AT"))
        #expect(!(try await ask("http://127.0.0.1.evil.org/", index, run).standardOutput.contains("AT")))
    }

    @Test(.holds("160")) func `git's pieces are no loophole`() async throws {
        let inputs = [
            "protocol=http\nhost=git.example.com\n", "protocol=https\nhost=git.example.com/@evil.org\n",
            "protocol=https\nhost=evil.org/git.example.com\n", "protocol=https\nhost=a@git.example.com\n",
            "protocol=https\nhost=\u{212A}git.example.com\n", "protocol=https\r\nhost=git.example.com\r\n",
            "protocol=https\nhost=git.example.com:+443\n", "protocol=ssh\nhost=git.example.com\n",
        ]
        for input in inputs {
            let result = try await tokenctl().run(["git-credential", "get"], input: input + "\n")
            #expect(result.all == (0, "", ""), "\(input)")
        }
    }

    @Test(.holds("160"))
    func `a session that names no servers is for none of them, unless the person says so`() async throws {
        let input = "protocol=https\nhost=any.example\n\n"
        let command = ["git-credential", "--session", "work", "get"]
        let limited = try await tokenctl().run(command, input: input)
        #expect(limited.all == (0, "", ""))
        let refused = try await tokenctl(hosts: []).run(command, input: input)
        #expect(refused.standardOutput == "quit=1\n" && refused.status == 0)
        #expect(
            refused.standardError
                == "tokenctl: work: cannot be used for any.example: hosts is not set\n"
                + "  Set: hosts in [session.work], then run tokenctl reload\n"
        )
        let open = try await tokenctl(hosts: []).run(command + ["--any-host"], input: input)
        #expect(open.standardOutput.contains("password=AT\n"))
        let still = try await tokenctl().run(command + ["--any-host"], input: input)
        #expect(still.standardOutput.isEmpty)
        let clear = try await tokenctl(hosts: []).run(
            command + ["--any-host"],
            input: "protocol=http\nhost=any.example\n\n"
        )
        #expect(clear.standardOutput.isEmpty)
    }

    @Test(arguments: helpers.indices)
    func `every helper holds to that`(index: Int) async throws {
        let refused = try await ask(
            "https://any.example/",
            index,
            tokenctl(hosts: []),
            ["--session", "work"]
        )
        #expect(!refused.standardOutput.contains("AT"))
        #expect(refused.standardError.contains("hosts is not set"), "\(refused)")
        let open = try await ask(
            "https://any.example/",
            index,
            tokenctl(hosts: []),
            ["--session", "work", "--any-host"]
        )
        #expect(open.standardOutput.contains("AT"), "\(open)")
    }
}
