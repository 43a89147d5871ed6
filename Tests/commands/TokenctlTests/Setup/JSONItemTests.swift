// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import TestSupport
import Testing
import Text

@testable import tokenctl_commands

/// Members that `tokenctl setup` puts into JSON files that people wrote.
struct JSONItemTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func member(_ name: String? = "h.example") -> JSONItem {
        JSONItem(directory.path("file"), in: "credHelpers", name, "tokenagent")
    }

    private func element() -> JSONItem {
        JSONItem(directory.path("file"), in: "mounts", nil, "source=/a", isElement: true)
    }

    @Test(
        .holds("243"),
        arguments: [
            ("{}", "{\n  \"credHelpers\": {\"h.example\": \"tokenagent\"}\n}"),
            (
                "{\n\t\"auths\": {}\n}\n",
                "{\n\t\"auths\": {},\n\t\"credHelpers\": {\"h.example\": \"tokenagent\"}\n}\n"
            ),
            (
                "{\n    \"credHelpers\": {\n        \"a\": \"b\"\n    },\n    \"x\": 1\n}\n",
                "{\n    \"credHelpers\": {\n        \"a\": \"b\",\n        \"h.example\": \"tokenagent\"\n    },\n    \"x\": 1\n}\n"
            ),
            (#"{"credHelpers":{"a":"b"}}"#, #"{"credHelpers":{"a":"b", "h.example": "tokenagent"}}"#),
            (
                "{ // mine\n  \"s\": \"}{//\\\"\", /* { */\n  \"n\": [1, -2.5e3, true, null,],\n}",
                "{ // mine\n  \"s\": \"}{//\\\"\", /* { */\n  \"n\": [1, -2.5e3, true, null,],\n"
                    + "  \"credHelpers\": {\"h.example\": \"tokenagent\"},\n}"
            ),
        ]
    )
    func `a member is added, and all else stays as it was written`(text: String, result: String) throws {
        try directory.write(text, to: "file")
        let item = member()
        #expect(try !item.isMade())
        try item.make()
        #expect(File.text(item.file) == result)
        #expect(try item.isMade())
        try item.undo()
        #expect(File.text(item.file) == text)
    }

    @Test(arguments: [
        "{\"theme\": \"dark\", // keep\n\"credHelpers\": { // mine\n// \"old\": 1\n}}", "{ // c\n}",
        "{\"credHelpers\": {}}", "{\n  \"credHelpers\": {\n  },\n  \"x\": 1 // one\n}\n",
        "{\"credHelpers\": {\"a\": \"b\" /* c */}, // d\n}", "{\"credHelpers\": {\"a\": \"b\", // e\n}}",
    ])
    func `comments and empty objects are a person's`(text: String) throws {
        try directory.write(text, to: "file")
        let item = member()
        for _ in 0..<2 {
            try item.make()
            #expect(try item.isMade())
            try item.undo()
            #expect(File.text(item.file) == text.replacing("{\n  }", with: "{}"))
        }
    }

    @Test func `what a link leads to stays, and a person's file too`() throws {
        try directory.write("", to: "target")
        symlink(directory.path("target"), directory.path("file"))
        for _ in 0..<2 {
            try member().make()
            try member().undo()
            #expect(File.text(directory.path("target")) == "")
        }
        try directory.write("{}\n", to: "theirs")
        let item = JSONItem(
            directory.path("theirs"),
            in: "mounts",
            nil,
            "source=/a",
            isElement: true
        )
        try item.make()
        try item.undo()
        #expect(File.text(item.file) == "{}\n")
    }

    @Test func `a file that was not there is made, and goes again`() throws {
        let item = member()
        try item.make()
        #expect(File.text(item.file) == "{\n  \"credHelpers\": {\"h.example\": \"tokenagent\"}\n}\n")
        #expect(File.mode(item.file) == 0o1600)
        try member("i.example").make()
        try member(nil).undo()
        #expect(!File.exists(item.file))
    }

    @Test func `elements of an array are added and removed by their value`() throws {
        try directory.write("{\"mounts\": [\"source=/b\"]}", to: "file")
        try element().make()
        #expect(File.text(element().file) == "{\"mounts\": [\"source=/b\", \"source=/a\"]}")
        #expect(try element().isMade())
        try element().undo()
        #expect(File.text(element().file) == "{\"mounts\": [\"source=/b\"]}")
    }

    @Test(arguments: [
        #"{"credHelpers":{"h.example":"other"}}"#, #"{"credHelpers":["h.example"]}"#, "[1]", "{", "{\"a\":}",
        "nonsense",
    ])
    func `what a person wrote otherwise is in the way, and stays`(text: String) throws {
        try directory.write(text, to: "file")
        #expect(throws: AgentError.self) { _ = try member().isMade() }
        #expect(throws: AgentError.self) { try member().make() }
        #expect(File.text(member().file) == text)
    }

    @Test func `where comments are allowed, what a person wrote in the same words is theirs`() throws {
        func items(_ name: String) -> [JSONItem] {
            [
                JSONItem(directory.path("file"), in: "env", name, "/a", isMarked: true),
                JSONItem(
                    directory.path("file"),
                    in: "mounts",
                    nil,
                    "source=/a",
                    isElement: true,
                    isMarked: true
                ),
            ]
        }
        let theirs = "{\n  \"env\": {\"SOCK\": \"/a\"},\n  \"mounts\": [\"source=/a\"]\n}\n"
        try directory.write(theirs, to: "file")
        for item in items("SOCK") {
            #expect(try item.isMade())
            #expect(try item.remnant().isEmpty)
            try item.undo()
        }
        #expect(File.text(directory.path("file")) == theirs)
        let ours = "{\n  \"image\": \"x\"\n}\n"
        try directory.write(ours, to: "file")
        for item in items("SOCK") {
            try item.make()
            #expect(try item.isMade())
        }
        let made = try #require(File.text(directory.path("file")))
        #expect(made.contains("{/* tokenctl setup */ \"SOCK\": \"/a\"}"), "\(made)")
        try directory.write(
            made.replacing("\"/a\"}", with: "\"/a\", \"X\": \"y\"}").replacing(
                "*/ \"source",
                with: "*/\n\"source"
            ),
            to: "file"
        )
        for item in items("SOCK").reversed() {
            #expect(try item.remnant().count == 2)
            try item.undo()
        }
        #expect(
            File.text(directory.path("file"))
                == "{\n  \"image\": \"x\",\n  \"env\": { \"X\": \"y\"},\n  \"mounts\": []\n}\n"
        )
    }

    @Test func `another program's members are not taken back`() throws {
        let text = #"{"credHelpers":{"a":"desktop","b":"tokenagent"}}"#
        try directory.write(text, to: "file")
        try member(nil).undo()
        #expect(File.text(member().file) == #"{"credHelpers":{"a":"desktop"}}"#)
        #expect(try member(nil).remnant().isEmpty)
    }

    @Test func `nesting without end is no layout`() {
        #expect(JSONLayout(String(repeating: "[", count: 100_000)) == nil)
    }
}
