// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// A configuration file with `sessions.d` beside it.
struct ConfigurationPlace {
    let directory: TemporaryDirectory
    var path: String { directory.path("config.toml") }
    var sessionDirectory: String { directory.path("sessions.d") }

    init(_ configuration: String = "") throws {
        directory = try TemporaryDirectory()
        try directory.write(configuration, to: "config.toml")
        try directory.makeDirectory("sessions.d")
    }

    static func session(_ name: String, more: String = "") -> String {
        """
        [session.\(name)]
        issuer = "https://id.example"
        client_id = "c"
        \(more)

        """
    }

    @discardableResult
    func add(_ text: String, to file: String, mode: mode_t = 0o600) throws -> String {
        try directory.write(text, to: "sessions.d/\(file)", mode: mode)
    }

    func settings() throws(ConfigurationProblems) -> Settings {
        try ConfigurationFile(path: path, mustExist: true).settings(home: "/home/me")
    }

    /// The mistakes of the files, with this directory left out of their places.
    func mistakes() throws -> [String] {
        try settings().mistakes.map {
            $0.description(in: path).replacing(directory.path + "/", with: "")
        }
    }
}

struct SessionFilesTests {
    @Test func `the sessions of all files join those of the configuration file`() throws {
        let place = try ConfigurationPlace(
            "[agent]\nmin_validity = \"7s\"\n" + ConfigurationPlace.session("a")
        )
        try place.add(ConfigurationPlace.session("c"), to: "c.toml")
        try place.add(ConfigurationPlace.session("\"b.2\""), to: "b.2.toml")
        let settings = try place.settings()
        #expect(settings.sessions.map(\.name.description) == ["a", "b.2", "c"])
        #expect(settings.sessions.allSatisfy { $0.policy.minimumValidity == .seconds(7) })
        #expect(settings.mistakes.isEmpty)
        let name = try #require(SessionName("c"))
        #expect(
            settings.places[name] == SessionTableLocation(file: place.sessionDirectory + "/c.toml", line: 1)
        )
        #expect(settings.places[try #require(SessionName("a"))] == SessionTableLocation(line: 3))
    }

    @Test func `files are read where there is no configuration file`() throws {
        let place = try ConfigurationPlace()
        try place.add(ConfigurationPlace.session("a"), to: "a.toml")
        unlink(place.path)
        let file = ConfigurationFile(path: place.path, mustExist: false)
        #expect(try file.settings(home: nil).sessions.count == 1)
    }

    @Test func `drafts and files of other kinds are left alone`() throws {
        let place = try ConfigurationPlace()
        for name in [".a.toml", ".a.toml.swp", "a.toml~", "a.txt", "toml"] { try place.add("?", to: name) }
        #expect(try place.mistakes().isEmpty)
    }

    struct Bad: CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let complaint: String

        init(_ description: String, _ text: String, _ complaint: String) {
            testDescription = description
            self.text = text
            self.complaint = complaint
        }
    }

    static let contents = [
        Bad("nothing", "", "sessions.d/a.toml:1: must contain the table [session.a]"),
        Bad(
            "another table",
            ConfigurationPlace.session("a") + "[hooks]\nevent = [\"true\"]\n",
            "sessions.d/a.toml:5: hooks: belongs in config.toml: this file may contain only one session"
        ),
        Bad(
            "another session beside",
            ConfigurationPlace.session("a") + ConfigurationPlace.session("b"),
            "sessions.d/a.toml:5: session.b: belongs in its own file: this one is for [session.a]"
        ),
        Bad(
            "a mistake",
            "[session.a]\nkind = \"oidd\"\nclient_id = \"c\"\n",
            "sessions.d/a.toml:2: session.a.kind: "
        ),
        Bad("half a file", "[session.a]\nissuer = \"https://id", "sessions.d/a.toml:2: "),
        Bad("no table", "session = 1\n", "sessions.d/a.toml:1: session: must be a table, not an integer"),
        Bad(
            "too much",
            ConfigurationPlace.session("a") + String(repeating: "#", count: 64 << 10),
            "sessions.d/a.toml: is larger than 64 KiB"
        ),
    ]

    @Test(arguments: contents)
    func `what a file holds costs its own session at most`(bad: Bad) throws {
        let place = try ConfigurationPlace(ConfigurationPlace.session("w"))
        try place.add(bad.text, to: "a.toml")
        try place.add(ConfigurationPlace.session("z"), to: "z.toml")
        #expect(try place.settings().sessions.map(\.name.description) == ["w", "z"])
        let mistakes = try place.mistakes()
        #expect(mistakes.count == 1)
        #expect(mistakes.first?.hasPrefix(bad.complaint) == true, "\(mistakes)")
        #expect(try place.settings().mistakes.first?.session?.description == "a")
    }

    @Test func `a file for another session is not read as either`() throws {
        let place = try ConfigurationPlace()
        try place.add(ConfigurationPlace.session("b"), to: "a.toml")
        #expect(try place.settings().sessions.isEmpty)
        let reason = "belongs in its own file: this one is for [session.a]"
        #expect(try place.mistakes() == ["sessions.d/a.toml:1: session.b: \(reason)"])
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o666] as [mode_t])
    func `a file that others can open is not read`(mode: mode_t) throws {
        let place = try ConfigurationPlace()
        try place.add(ConfigurationPlace.session("a"), to: "a.toml", mode: mode)
        let reason = "must not be accessible to group or others (run: chmod 600 sessions.d/a.toml)"
        #expect(try place.mistakes() == ["sessions.d/a.toml: \(reason)"])
    }

    @Test func `only a file that lies there itself is read`() throws {
        let place = try ConfigurationPlace()
        let elsewhere = try place.directory.write(ConfigurationPlace.session("a"), to: "elsewhere")
        #expect(symlink(elsewhere, place.sessionDirectory + "/a.toml") == 0)
        #expect(mkfifo(place.sessionDirectory + "/b.toml", 0o600) == 0)
        #expect(mkdir(place.sessionDirectory + "/c.toml", 0o700) == 0)
        let reason = "must be a regular file, not a link or a directory"
        #expect(try place.mistakes() == ["a", "b", "c"].map { "sessions.d/\($0).toml: \(reason)" })
        #expect(try place.settings().sessions.isEmpty)
    }

    @Test func `a name that no session can have is named`() throws {
        let place = try ConfigurationPlace()
        try place.add("", to: "a b\u{1B}.toml")
        let mistakes = try place.mistakes()
        #expect(mistakes.count == 1)
        #expect(mistakes.first?.contains("must be named SESSION.toml") == true)
        #expect(mistakes.first?.contains("\u{1B}") == false)
    }

    @Test func `of two sessions of one name that of the configuration file holds`() throws {
        let place = try ConfigurationPlace("\n" + ConfigurationPlace.session("a"))
        try place.add("#\n" + ConfigurationPlace.session("a", more: "scopes = [\"x\"]"), to: "a.toml")
        let settings = try place.settings()
        #expect(settings.sessions.map(\.scopes) == [[]])
        let reason = "has no effect: also defined at config.toml:2, which takes precedence"
        #expect(try place.mistakes() == ["sessions.d/a.toml:2: session.a: \(reason)"])
    }

    @Test func `a secret in the configuration file must be private even if a file has its name`() throws {
        let secret = ConfigurationPlace.session("a", more: "client_secret = \"s\"")
        let place = try ConfigurationPlace(secret)
        try place.add(secret, to: "a.toml")
        chmod(place.path, 0o644)
        #expect(throws: ConfigurationProblems.self) { _ = try place.settings() }
        try place.directory.write("", to: "config.toml", mode: 0o644)
        chmod(place.path, 0o644)
        #expect(try place.settings().sessions.first?.holdsLiteralSecret == true)
    }

    @Test func `a socket does without a session whose file has a mistake`() throws {
        let socket = "[[socket]]\npath = \"/run/x.sock\"\nsessions = [\"a\", \"w\"]\n"
        let place = try ConfigurationPlace(ConfigurationPlace.session("w") + socket)
        try place.add("[session.a]\n", to: "a.toml")
        #expect(try place.settings().sockets.count == 1)
        let remark =
            "config.toml:7: socket.sessions: session \"a\" is unavailable: its file has an error"
        #expect(try place.mistakes().contains(remark))
        unlink(place.sessionDirectory + "/a.toml")
        #expect(throws: ConfigurationProblems.self) { _ = try place.settings() }
        chmod(place.sessionDirectory, 0o770)
        let unread = "session \"a\" is unavailable: sessions.d was not read completely"
        #expect(try place.mistakes().contains("config.toml:7: socket.sessions: \(unread)"))
    }

    @Test func `a socket for bare tokens that a file's session cannot give costs nothing else`() throws {
        let socket = "[[socket]]\npath = \"/run/x.sock\"\nsessions = [\"a\"]\nanswer = \"token\"\n"
        let place = try ConfigurationPlace(ConfigurationPlace.session("w") + socket)
        try place.add(ConfigurationPlace.session("a", more: "dpop = true\n"), to: "a.toml")
        let settings = try place.settings()
        #expect(settings.sockets.isEmpty && settings.sessions.count == 2)
        #expect(try place.mistakes().contains { $0.contains("DPoP tokens require a proof for each request") })
    }

    @Test func `a directory in which others can write is not read`() throws {
        for mode in [0o720, 0o702, 0o777] as [mode_t] {
            let place = try ConfigurationPlace()
            try place.add(ConfigurationPlace.session("a"), to: "a.toml")
            chmod(place.sessionDirectory, mode)
            let reason = "must not be writable by group or others (run: chmod go-w sessions.d)"
            #expect(try place.mistakes() == ["sessions.d: \(reason)"])
            #expect(try place.settings().sessions.isEmpty)
        }
    }

    @Test func `a directory that is a link or a file is not read`() throws {
        let place = try ConfigurationPlace()
        rmdir(place.sessionDirectory)
        try place.directory.makeDirectory("elsewhere")
        #expect(symlink(place.directory.path("elsewhere"), place.sessionDirectory) == 0)
        let reason = "must be a directory, not a link or a file"
        #expect(try place.mistakes() == ["sessions.d: \(reason)"])
        unlink(place.sessionDirectory)
        try place.directory.write("", to: "sessions.d")
        #expect(try place.mistakes() == ["sessions.d: \(reason)"])
    }

    @Test(.enabled(if: getuid() == 0, "only root can give files away"))
    func `what belongs to another user is not read`() throws {
        let place = try ConfigurationPlace()
        let file = try place.add(ConfigurationPlace.session("a"), to: "a.toml")
        #expect(chown(file, 65_534, 65_534) == 0)
        #expect(
            try place.mistakes() == [
                "sessions.d/a.toml: must be owned by this user, not by uid 65534"
            ]
        )
        #expect(chown(place.sessionDirectory, 65_534, 65_534) == 0)
        #expect(
            try place.mistakes() == [
                "sessions.d: must be owned by this user, not by uid 65534"
            ]
        )
    }

    @Test func `there is a limit to the files, and it is said`() throws {
        let place = try ConfigurationPlace()
        for number in 1000...2000 {
            try place.add(ConfigurationPlace.session("s\(number)"), to: "s\(number).toml")
        }
        let settings = try place.settings()
        #expect(settings.sessions.count == SessionFiles.maximumFiles)
        #expect(settings.sessions.last?.name.description == "s1999")
        let reason = "contains 1001 files, of which only the first 1000 by name are read"
        #expect(try place.mistakes() == ["sessions.d: \(reason)"])
    }

    @Test func `a change of any file shows`() throws {
        let place = try ConfigurationPlace()
        rmdir(place.sessionDirectory)
        var before = ConfigurationStamp(of: place.path)
        func hasChanged() -> Bool {
            defer { before = ConfigurationStamp(of: place.path) }
            return before != ConfigurationStamp(of: place.path)
        }
        #expect(!hasChanged())
        try place.directory.makeDirectory("sessions.d")
        #expect(hasChanged())
        try place.add("", to: "a.toml")
        #expect(hasChanged())
        try place.add("#", to: "a.toml")
        #expect(hasChanged())
        #expect(!hasChanged())
        unlink(place.sessionDirectory + "/a.toml")
        #expect(hasChanged())
    }

    @Test func `a session in force stays while its file cannot be read, and goes with its file`() throws {
        let place = try ConfigurationPlace()
        let file = try place.add(ConfigurationPlace.session("a", more: "scopes = [\"old\"]"), to: "a.toml")
        let old = try place.settings()
        let name = try #require(SessionName("a"))
        try place.add("[session.a]\n", to: "a.toml")
        let new = try place.settings()
        #expect(new.unread(of: old) == [name])
        let kept = new.keeping([name], of: old)
        #expect(kept.sessions == old.sessions)
        #expect(kept.places == old.places)
        // Once more, from what was kept.
        #expect(new.unread(of: kept) == [name])
        chmod(place.sessionDirectory, 0o770)
        #expect(try place.settings().unread(of: old) == [name])
        chmod(place.sessionDirectory, 0o700)
        unlink(file)
        #expect(try place.settings().unread(of: old) == [])
    }
}
