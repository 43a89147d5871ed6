// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// The unlock proofs that `tokenctl vault` sends to change the unlock methods.
struct VaultProofTests {
    /// Runs a command at an agent whose vault requires `proof`.
    ///
    /// - Returns: the result, and the requests other than those for the state of the vault.
    private func change(
        _ arguments: [String],
        proof: String,
        keyFile: String = "/none",
        input: String = ""
    ) async throws -> (result: ProgramResult, requests: [String]) {
        let slots = #"[{"index":0,"type":"keyfile","detail":"\#(keyFile)"}]"#
        let agent = try ScriptedAgent(responding: { request in
            request.hasPrefix("GET ") ? .answer(#"{"proof":"\#(proof)","slots":\#(slots)}"#) : .answer("{}")
        })
        let result = try await Program.run(
            [BuiltPrograms.client, "vault"] + arguments,
            environment: ["TOKENAGENT_SOCK": agent.socket],
            input: input
        )
        return (result, agent.requests.filter { !$0.hasPrefix("GET /v1/vault HTTP/1.1\r\n") })
    }

    private static let changes: [(arguments: [String], line: String, body: String)] = [
        (["slots", "remove", "2"], "DELETE /v1/vault/slots/2", ""),
        (
            ["init", "--type", "keyfile", "--path", "/k"], "POST /v1/vault/init",
            #""type":"keyfile","path":"/k""#
        ),
        (
            ["slots", "add", "--type", "command", "--", "pass", "show", "x"], "POST /v1/vault/slots",
            #""type":"command","command":["pass","show","x"]"#
        ),
        (["rekey"], "POST /v1/vault/rekey", ""),
    ]

    /// A new unlock method does not remove the existing one.
    private static func note(after arguments: [String]) -> String {
        guard arguments.starts(with: ["slots", "add"]) else { return "" }
        return "note: the key file (slot 0) still unlocks the store\n  Run: tokenctl vault slots remove 0\n"
    }

    @Test(arguments: 0..<changes.count)
    func `the key file of the store is read and shown, and nothing is said`(index: Int) async throws {
        let (arguments, line, body) = Self.changes[index]
        let directory = try TemporaryDirectory()
        let file = try directory.write("\u{1}key\n", to: "key")
        let (result, requests) = try await change(arguments, proof: "keyfile", keyFile: file)
        #expect(result.all == (0, Self.note(after: arguments), ""))
        #expect(requests.count == 1)
        #expect(requests.first?.hasPrefix(line + " HTTP/1.1\r\n") == true)
        let key = #""unlock_key":"016b65790a""#
        let expected = "{\(key)\(body.isEmpty ? "" : ",")\(body)}"
        #expect(requests.first?.hasSuffix("\r\n\r\n" + expected) == true, "\(requests)")
    }

    @Test(arguments: 0..<changes.count)
    func `where a person is asked the command shows nothing`(index: Int) async throws {
        let (arguments, _, body) = Self.changes[index]
        let (result, requests) = try await change(arguments, proof: "confirm")
        #expect(result.all == (0, Self.note(after: arguments), ""))
        #expect(requests.first?.hasSuffix("\r\n\r\n{\(body)}") == true, "\(requests)")
    }

    @Test(arguments: 0..<changes.count)
    func `a passphrase is asked for, and with nobody to ask nothing is changed`(index: Int) async throws {
        let (result, requests) = try await change(Self.changes[index].arguments, proof: "passphrase")
        #expect(result.status == 2 && requests.isEmpty)
        #expect(result.standardError.contains("--passphrase-stdin"), "\(result.standardError)")
    }

    @Test(arguments: [
        (["slots", "remove", "2"], "old\n", #"{"unlock_passphrase":"old"}"#),
        (["rekey"], "old\n", #"{"passphrase":"old"}"#),
        (
            ["slots", "add"], "old\nnew\n",
            #"{"unlock_passphrase":"old","type":"passphrase","passphrase":"new"}"#
        ),
        (
            ["slots", "add", "--type", "keyfile"], "old\n",
            #"{"unlock_passphrase":"old","type":"keyfile"}"#
        ),
    ])
    func `passphrases come from standard input, the present one first`(
        arguments: [String],
        input: String,
        body: String
    ) async throws {
        let (result, requests) = try await change(
            arguments + ["--passphrase-stdin"],
            proof: "passphrase",
            input: input
        )
        let isNoted = body.contains(#""type":"passphrase""#)
        #expect(result.all == (0, isNoted ? Self.note(after: arguments) : "", ""))
        #expect(requests.first?.hasSuffix("\r\n\r\n" + body) == true, "\(requests)")
    }

    @Test func `what only a command delivers is given in a file`() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("delivered", to: "key")
        let (refused, none) = try await change(["rekey"], proof: "key")
        #expect(refused.status == 2 && none.isEmpty)
        #expect(refused.standardError.contains("--key-file"))
        let (result, requests) = try await change(["rekey", "--key-file", file], proof: "key")
        #expect(result.all == (0, "", ""))
        #expect(requests.first?.hasSuffix(#"{"unlock_key":"64656c697665726564"}"#) == true, "\(requests)")
    }

    @Test(arguments: ["/none", "/dev/zero", "/dev/null"])
    func `a key file that cannot be one is named, and nothing is sent`(path: String) async throws {
        let (result, requests) = try await change(["rekey"], proof: "keyfile", keyFile: path)
        #expect(result.status == 2 && requests.isEmpty)
        #expect(result.standardError.contains(path), "\(result.standardError)")
    }

    @Test func `the list says when each slot was made`() async throws {
        let slots = #"""
            {"slots":[{"index":0,"type":"keyfile","detail":"/k"},{"index":1,"type":"passphrase","detail":"",\#
            "made_at":1800000000}]}
            """#
        let agent = try ScriptedAgent(.read, .answer(slots))
        let result = try await Program.run(
            [BuiltPrograms.client, "vault", "slots"],
            environment: ["TOKENAGENT_SOCK": agent.socket]
        )
        let lines = result.standardOutput.split(separator: "\n")
        #expect(lines.count == 3 && lines[1].contains("unknown") && lines[2].contains("2027-01-15T08:00:00Z"))
    }
}
