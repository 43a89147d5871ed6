// SPDX-License-Identifier: MIT

import AgentProtocol
import Glibc
import SecretMemory
import TestSupport
import Testing
import TokenCore

@testable import AgentServer

/// The stored list of token files, and the contents of the files.
struct TokenFileLedgerTests {
    private let directory: TemporaryDirectory
    private let memory: SealedMemory

    init() throws {
        directory = try TemporaryDirectory()
        memory = try SealedMemory()
    }

    private func seal(_ token: String) throws -> SecretID {
        try Array(token.utf8).withUnsafeBytes { try memory.seal($0, as: .accessToken) }
    }

    private func content(_ form: TokenOutputFormat?, of secret: SecretID) throws -> TokenFileTemplate {
        let name = try #require(SessionName("work"))
        let token = AccessToken(
            secret: secret,
            idToken: nil,
            tokenType: "bearer",
            scope: ["a", "b"],
            obtainedAt: .seconds(0),
            expiresAt: .seconds(100),
            jitter: 0
        )
        let moment = Moment(now: .seconds(10), wallTime: WallTime(secondsSince1970: 1_000))
        return TokenFileTemplate(
            token,
            for: TokenFileTarget(path: "/", session: name, form: form),
            at: moment
        )
    }

    private func writer() -> TokenFileWriter {
        TokenFileWriter(memory: memory, ledger: TokenFileLedger(stateDirectory: directory.path))
    }

    @Test(.holds("241")) func `what a killed agent left is removed by the next one, half a file too`() throws
    {
        let writer = writer()
        let secret = try seal("token-1")
        for name in ["one", "two"] {
            let place = try directory.makeDirectory(name) + "/token"
            #expect(writer.write(secret, in: try content(.token, of: secret), to: place) == nil)
        }
        // An interrupted write: the last file of the list is incomplete.
        let begun = directory.path("one/.token.new")
        #expect(rename(directory.path("one/token"), begun) == 0 && truncate(begun, 3) == 0)
        // This file no longer belongs to the agent.
        File.remove(directory.path("two/token"))
        try directory.write("mine", to: "two/token", mode: 0o600)
        try directory.write("other", to: "one/other")
        let ledger = TokenFileLedger(stateDirectory: directory.path)
        #expect(ledger.removeFiles() == [])
        #expect(directory.names(in: "one") == ["other"] && directory.names(in: "two") == ["token"])
        #expect(!directory.names().contains("token-files"))
        #expect(ledger.removeFiles() == [])
    }

    @Test func `a file whose directory is gone is forgotten, and one that is removed is off the list`() throws
    {
        let writer = writer()
        let secret = try seal("token-1")
        let paths = try ["one", "two"].map { try directory.makeDirectory($0) + "/token" }
        for path in paths {
            #expect(writer.write(secret, in: try content(.token, of: secret), to: path) == nil)
        }
        #expect(listed() == paths)
        #expect(writer.remove(paths[0]) == nil)
        #expect(listed() == [paths[1]])
        File.removeTree(directory.path("two"))
        #expect(TokenFileLedger(stateDirectory: directory.path).removeFiles() == [])
        #expect(!File.exists(directory.path("token-files")))
    }

    @Test(
        arguments: [
            (TokenOutputFormat.token, "a.b+/=~-_", "a.b+/=~-_"), (.bearer, "t", "Bearer t"),
            (.header, "t", "Authorization: Bearer t"), (.headersJSON, "t", #"{"Authorization":"Bearer t"}"#),
            (.env, "t", "BEARER_TOKEN=t"),
            (
                nil, "t",
                #"{"session":"work","access_token":"t","token_type":"bearer","expires_at":1090,"scope":"a b"}"#
            ),
        ] as [(TokenOutputFormat?, String, String)]
    )
    func `each format is one line without an end`(
        form: TokenOutputFormat?,
        token: String,
        text: String
    ) throws {
        let secret = try seal(token)
        let path = directory.path("token")
        #expect(writer().write(secret, in: try content(form, of: secret), to: path) == nil)
        #expect(File.text(path) == text)
    }

    @Test(
        arguments: [
            (TokenOutputFormat.token, "a b"), (.token, ""), (.token, "a\nb"), (.headersJSON, "a\"b"),
            (nil, "a\\b"),
            (.env, "~a"), (.env, "a;b"), (.env, "$a"),
        ] as [(TokenOutputFormat?, String)]
    )
    func `a token that its readers would misread is not written`(
        form: TokenOutputFormat?,
        token: String
    ) throws {
        let secret = try seal(token)
        let path = directory.path("token")
        let fault = try #require(writer().write(secret, in: try content(form, of: secret), to: path))
        #expect(fault.reason.contains("cannot contain") && !fault.needsRestart)
        #expect(directory.names().isEmpty)
    }

    @Test(.holds("241")) func `one that somebody made readable is removed all the same, at its own place`()
        throws
    {
        let writer = writer()
        let secret = try seal("token-1")
        // The first character of the name combines with the slash before it.
        let path = directory.path("\u{301}token")
        #expect(writer.write(secret, in: try content(.token, of: secret), to: path) == nil)
        #expect(File.text(path) == "token-1")
        chmod(path, 0o644)
        #expect(writer.remove(path) == nil && !File.exists(path))
        #expect(directory.names().isEmpty)
    }

    @Test(.holds("241")) func `a list that is not ours is not read`() throws {
        try directory.write("\(directory.path("victim"))\n", to: "token-files", mode: 0o644)
        try directory.write("mine", to: "victim")
        #expect(TokenFileLedger(stateDirectory: directory.path).removeFiles() == [])
        #expect(File.text(directory.path("victim")) == "mine")
    }

    /// The paths of the list.
    private func listed() -> [String] {
        (File.text(directory.path("token-files")) ?? "").split(separator: "\n").map { line in
            String(line.drop { $0 != " " }.dropFirst())
        }
    }

    @Test(.holds("241")) func `a list that names another file removes nothing`() throws {
        let secret = try seal("token-1")
        let path = try directory.makeDirectory("files") + "/token"
        #expect(writer().write(secret, in: try content(.token, of: secret), to: path) == nil)
        let list = try #require(File.text(directory.path("token-files")))
        let marks = list.prefix { $0 != " " }
        // A private file of ours, with the content of the token file and without it.
        let copy = try directory.write("token-1", to: "files/copy", mode: 0o600)
        let key = try directory.write("key", to: "files/key", mode: 0o600)
        let draft = try directory.write("tok", to: "files/.copy.new", mode: 0o600)
        for named in [copy, key, "\(directory.path("files"))/copy"] {
            try directory.write("\(marks) \(named)\n", to: "token-files", mode: 0o600)
            #expect(TokenFileLedger(stateDirectory: directory.path).removeFiles() == [])
        }
        // The format of releases without marks.
        try directory.write("\(key)\n", to: "token-files", mode: 0o600)
        #expect(TokenFileLedger(stateDirectory: directory.path).removeFiles() == [])
        #expect([copy, key, draft, path].allSatisfy { File.exists($0) })
    }

    @Test(.holds("241")) func `a file that somebody has changed in place stays`() throws {
        let secret = try seal("token-1")
        let path = try directory.makeDirectory("files") + "/token"
        #expect(writer().write(secret, in: try content(.token, of: secret), to: path) == nil)
        let file = try #require(fopen(path, "r+e"))
        #expect(fputs("notes-1", file) >= 0 && fclose(file) == 0)
        #expect(TokenFileLedger(stateDirectory: directory.path).removeFiles() == [])
        #expect(File.text(path) == "notes-1")
    }

    @Test func `the newest of many files is removed, and the one before it`() throws {
        let path = try directory.makeDirectory("files") + "/token"
        let writer = writer()
        for number in 1...5 {
            let secret = try seal("token-\(number)")
            #expect(writer.write(secret, in: try content(.token, of: secret), to: path) == nil)
        }
        #expect(TokenFileLedger(stateDirectory: directory.path).removeFiles() == [])
        #expect(!File.exists(path))
    }
}
