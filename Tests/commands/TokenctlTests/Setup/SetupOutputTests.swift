// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// Messages of `tokenctl setup` about changes that it makes, skips or rejects.
struct SetupOutputTests {
    private let home: TemporaryDirectory
    private let tokenctl: TokenctlRun

    init() throws {
        home = try TemporaryDirectory()
        tokenctl = try TokenctlRun(responding: { _ in .answer(#"{"sessions":[]}"#) })
    }

    private func setUp(_ options: String) async throws -> ProgramResult {
        let words = options.split(separator: " ").map(String.init)
        return try await tokenctl.run(["setup"] + words, environment: ["HOME": home.path])
    }

    @Test func `a forwarding that another takes the place of is shown`() async throws {
        // Nobody has to listen there.
        for name in ["a.sock", "b.sock"] { try File.makeSocket(home.path(name)) }
        let file = home.path("config")
        let options = "ssh --file \(file) --host far"
        let first = try await setUp("\(options) --local \(home.path("a.sock")) --remote /run/x.sock")
        #expect(first.status == 0 && !first.standardOutput.contains("  - "), "\(first)")
        let gone = "\n  -     RemoteForward /run/x.sock \(home.path("a.sock"))\n"
        for option in [" --print", ""] {
            let sockets = "--local \(home.path("b.sock")) --remote /run/y.sock"
            let second = try await setUp("\(options) \(sockets)\(option)")
            #expect(second.status == 0 && second.standardOutput.contains(gone), "\(second)")
            #expect(second.standardOutput.split(separator: "  - ").count == 2, "\(second)")
        }
    }

    @Test(arguments: [
        ("Host far\n  RemoteForward /run/x.sock /other\n", true),
        ("Host near far\n  remoteforward \"/run/x.sock\" /other\n", true),
        ("RemoteForward /run/x.sock /other\n", true),
        ("Host near\n  RemoteForward /run/x.sock /other\n", false),
        ("Host far\n  RemoteForward /run/z.sock /other\n  LocalForward /run/x.sock /other\n", false),
    ])
    func `a person's own forwarding of the same socket for the host is in the way`(
        text: String,
        isInTheWay: Bool
    ) async throws {
        try File.makeSocket(home.path("a.sock"))
        let file = try home.write(text, to: "config")
        let sockets = "--local \(home.path("a.sock")) --remote /run/x.sock"
        let result = try await setUp("ssh --file \(file) --host far \(sockets)")
        #expect(result.status == (isInTheWay ? 2 : 0), "\(result)")
        #expect((File.text(file) == text) == isInTheWay)
    }

    @Test func `a setting that lost its comments stays, and that is said`() async throws {
        let file = home.path("pip.conf")
        #expect(try await setUp("pip --file \(file)").status == 0)
        try File.write("[global]\nkeyring-provider = subprocess\ntimeout = 60\n\n", to: file)
        let written = File.text(file)
        let undone = try await setUp("pip --file \(file) --undo")
        #expect(undone.status == 0 && undone.standardOutput.contains("Undone: "), "\(undone)")
        let note =
            "Note: \(file):2: not removed: looks like our entry but has no marker comment"
        #expect(undone.standardOutput.contains("\(note): keyring-provider = subprocess\n"), "\(undone)")
        #expect(File.text(file) == written)
    }

    @Test func `a name of other letters can be pasted from the line that takes it back`() async throws {
        let file = home.path("mcp.json")
        let options = "mcp --file \(file) --url https://h.example/mcp --name"
        let made = try await setUp("\(options) \u{E4}'\u{202E}\u{1B}\u{4F60}")
        #expect(made.status == 0, "\(made)")
        let name = #"--name '\#u{E4}'\''\u{202e}\u{1b}\#u{4F60}'"#
        #expect(made.standardOutput.contains(name), "\(made)")
        let undone = try await setUp("mcp --undo --file \(file) --name \u{E4}'\u{202E}\u{1B}\u{4F60}")
        #expect(undone.status == 0 && !File.exists(file), "\(undone)")
    }

    @Test func `a directory that holds another socket is not mounted`() async throws {
        try home.makeDirectory("tokens")
        for name in ["a.sock", "b.sock"] { try File.makeSocket(home.path("tokens/\(name)")) }
        let file = try home.write("{}\n", to: "devcontainer.json")
        let options = "devcontainer --file \(file) --local \(home.path("tokens/a.sock"))"
        let refused = try await setUp(options)
        #expect(
            refused.status == 2 && refused.standardError.contains("it also contains the socket b.sock"),
            "\(refused)"
        )
        #expect(File.text(file) == "{}\n")
        // A file that is not a socket opens nothing.
        File.remove(home.path("tokens/b.sock"))
        try home.write("", to: "tokens/b.sock")
        #expect(try await setUp(options).status == 0)
    }
}
