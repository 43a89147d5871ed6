// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing
import TokenCore

@testable import AgentSettings

/// Session files that are checked before they are in place.
struct DraftedSessionTests {
    /// The mistakes of a configuration with a further file, whose directory is called `drafts`.
    private func mistakes(
        _ place: ConfigurationPlace,
        drafting text: String,
        as file: String = "z.toml",
        mode: mode_t = 0o700
    ) throws -> [String] {
        let drafts = try place.directory.makeDirectory("drafts")
        chmod(drafts, mode)
        try place.directory.write(text, to: "drafts/\(file)")
        let settings = try ConfigurationFile(path: place.path, mustExist: true)
            .settings(home: nil, drafts: drafts)
        return settings.mistakes.map {
            $0.description(in: place.path).replacing(place.directory.path + "/", with: "")
        }
    }

    @Test func `a draft is read with all others, and nowhere else`() throws {
        let place = try ConfigurationPlace(ConfigurationPlace.session("a"))
        try place.add(ConfigurationPlace.session("b"), to: "b.toml")
        #expect(try mistakes(place, drafting: ConfigurationPlace.session("z")).isEmpty)
        #expect(try place.settings().sessions.map(\.name.description) == ["a", "b"])
    }

    @Test func `a draft with the name of another session names its place`() throws {
        let place = try ConfigurationPlace(ConfigurationPlace.session("z"))
        let session = ConfigurationPlace.session("z")
        #expect(
            try mistakes(place, drafting: session)
                == [
                    "drafts/z.toml:1: session.z: has no effect: also defined at config.toml:1, which takes precedence"
                ]
        )
        let other = try ConfigurationPlace()
        try other.add(session, to: "z.toml")
        #expect(
            try mistakes(other, drafting: session)
                == [
                    "drafts/z.toml:1: session.z: has no effect: also defined at sessions.d/z.toml:1, which takes precedence"
                ]
        )
    }

    @Test(.holds("190")) func `a draft is refused for what a file in place would be refused for`() throws {
        let place = try ConfigurationPlace()
        let bad = try mistakes(place, drafting: "[session.z]\nkind = \"oidd\"\n")
        #expect(bad.allSatisfy { $0.hasPrefix("drafts/z.toml:") } && !bad.isEmpty)
        let name = try mistakes(try ConfigurationPlace(), drafting: "", as: "a b.toml")
        #expect(name.first?.contains("must be named SESSION.toml") == true, "\(name)")
        let open = try mistakes(try ConfigurationPlace(), drafting: "", mode: 0o777)
        #expect(open == ["drafts: must not be writable by group or others (run: chmod go-w drafts)"])
    }

    @Test func `the tables that name a session are known, also while its file has a mistake`() throws {
        let socket = "[[socket]]\npath = \"/run/s\"\nsessions = [\"z\"]\n"
        let place = try ConfigurationPlace(socket)
        try place.add("[session.z]\n", to: "z.toml")
        let settings = try place.settings()
        let name = try #require(SessionName("z"))
        #expect(settings.places[name] == nil)
        #expect(settings.tables(naming: name) == ["[[socket]] /run/s"])
        #expect(settings.tables(naming: try #require(SessionName("y"))).isEmpty)
    }

    @Test func `a session that is made from another names it`() throws {
        let derived = "flow = \"token_exchange\"\nfrom = \"a\"\n"
        let place = try ConfigurationPlace(ConfigurationPlace.session("a"))
        try place.add(ConfigurationPlace.session("d", more: derived), to: "d.toml")
        let settings = try place.settings()
        #expect(try place.mistakes() == [])
        #expect(settings.tables(naming: try #require(SessionName("a"))) == ["[session.d]"])
        #expect(settings.tables(naming: try #require(SessionName("d"))).isEmpty)
    }
}
