// SPDX-License-Identifier: MIT

import Glibc
import TestSupport
import Testing

@testable import AgentProtocol

struct LockedDirectoryTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
    }

    @Test func `a directory goes with the value that stands for it, and with what is in it`() throws {
        do {
            let directory = try LockedTemporaryDirectory(in: home.path, named: ".draft-")
            #expect(directory.path.hasPrefix(home.path(".draft-")))
            #expect(File.mode(directory.path) == 0o700)
            try File.write("x", to: directory.path + "/file")
            #expect(home.names().count == 1)
        }
        #expect(home.names().isEmpty)
    }

    @Test(.holds("190")) func `what somebody has locked stays, and what nobody has is removed`() throws {
        let held = try LockedTemporaryDirectory(in: home.path, named: ".draft-")
        try home.makeDirectory(".draft-killed")
        try home.write("x", to: ".draft-killed/file")
        try home.makeDirectory("other")
        try home.makeDirectory(".hidden")
        LockedTemporaryDirectory.removeLeftovers(in: home.path, named: ".draft-")
        let name = String(held.path.dropFirst(home.path.utf8.count + 1))
        #expect(Set(home.names()) == [name, ".hidden", "other"])
        // Without a beginning of their names, all but hidden ones.
        LockedTemporaryDirectory.removeLeftovers(in: home.path)
        #expect(Set(home.names()) == [name, ".hidden"])
        #expect(File.exists(held.path))
    }

    @Test func `a link and a directory with another in it are left alone`() throws {
        try home.makeDirectory("target")
        try home.write("x", to: "target/file")
        try home.makeDirectory("place")
        #expect(symlink(home.path("target"), home.path("place/.draft-link")) == 0)
        try home.makeDirectory("place/.draft-full")
        try home.makeDirectory("place/.draft-full/inner")
        LockedTemporaryDirectory.removeLeftovers(in: home.path("place"), named: ".draft-")
        #expect(Set(home.names(in: "place")) == [".draft-full", ".draft-link"])
        #expect(File.text(home.path("target/file")) == "x")
    }

    @Test func `a place that cannot be written is named`() {
        #expect(throws: AgentError.self) { _ = try LockedTemporaryDirectory(in: home.path("missing")).path }
    }
}
