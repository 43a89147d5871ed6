// SPDX-License-Identifier: MIT

import CommandCore
import TestSupport
import Testing

@testable import tokenctl_commands

/// `tokenctl` reads the options of `get` by hand; help, completions and errors come from the argument parser.
@Suite struct `The two readers of get's options` {
    private static let words = [
        "work", "other", "--min-valid", "5m", "--min-valid=90", "--min-valid=", "--timeout", "1s",
        "--timeout=2h",
        "--no-wait", "--format", "json", "--format=env", "--format=nothing", "--json", "--scope", "a",
        "--scope=b c", "--scope=", "--audience", "--audience=x=y", "--id-token", "--dpop-url", "https://api/",
        "--dpop-url=https://a/?b=c", "--dpop-method", "POST", "--dpop-nonce", "-n", "--dpop-nonce=", "--user",
        "--user=me", "--host=h", "--socket", "/s", "--socket=", "--no-autostart", "--refresh-if-repeated",
        "--help",
        "-h", "--", "-x", "é", "",
    ]

    /// Parses the arguments after `get`.
    ///
    /// - Returns: the command, or `nil` if the parser rejects the arguments or shows help.
    private static func parsed(_ arguments: some Collection<String>) -> GetCommand? {
        // Without the other commands, because building their tree takes 0.1 s each time.
        try? GetCommand.parse(Array(arguments))
    }

    @Test func `what is read by hand, the parser reads in the same way`() {
        var generator = SeededGenerator(seed: 10)
        var both = 0
        for _ in 0..<3000 {
            let count = Int.random(in: 0...4, using: &generator)
            var arguments = (0..<count).map { _ in Self.words.randomElement(using: &generator) ?? "" }
            arguments.insert("work", at: Int.random(in: 0...count, using: &generator))
            arguments.insert("get", at: 0)
            guard let order = GetOptions(reading: arguments) else { continue }
            both += 1
            let command = Self.parsed(arguments.dropFirst())
            #expect(command?.order == order, "\(arguments)")
            #expect(command?.heedsRepetition == false, "\(arguments)")
        }
        #expect(both > 200, "only \(both) of the command lines were read by hand at all")
    }

    @Test(arguments: [
        ["--min-valid", "5m"], ["--timeout=1s"], ["--no-wait"], ["--format", "env"], ["--json"],
        ["--scope", "a"],
        ["--audience=b"], ["--id-token"],
        ["--dpop-url", "https://a/", "--dpop-method=POST", "--dpop-nonce", "n"],
        ["--format=sasl-xoauth2", "--user", "me"], ["--format=netrc", "--host=h"], ["--socket", "/s"],
        ["--no-autostart"], [],
    ])
    func `every option that get has is read by hand`(options: [String]) throws {
        let order = try #require(GetOptions(reading: ["get", "work"] + options))
        #expect(Self.parsed(["work"] + options)?.order == order)
        let command = try RootCommand.parseAsRoot(["get", "work"] + options) as? GetCommand
        #expect(command?.order == order)
    }
}
