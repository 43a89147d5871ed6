// SPDX-License-Identifier: MIT

import NIOSSL
import TestSupport
import Testing

@testable import OAuthClient

/// The decryption of recorded TLS bytes that BoringSSL encrypted for a client.
struct DecryptedRecordingTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    static let ciphers: [(TLSVersion, NIOTLSCipher?)] = [
        (.tlsv13, nil),
        (.tlsv12, .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
        (.tlsv12, .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
        (.tlsv12, .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
    ]

    @Test(.holds("253"), arguments: ciphers) func `an answer is read from its recording`(
        version: TLSVersion,
        cipher: NIOTLSCipher?
    ) throws {
        let connection = try RecordedConnection(version, cipher.map { [$0] })
        try connection.say(Self.answer)
        let secret = try #require(connection.secret)
        let recording = try DecryptedRecording(connection.stream, secret)
        #expect(String(decoding: recording.plaintext, as: UTF8.self) == Self.answer)
        #expect(!recording.hasEnded)
    }

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13]) func `the end that a server says is read too`(
        version: TLSVersion
    ) throws {
        let connection = try RecordedConnection(version)
        try connection.say("no length")
        try connection.end()
        let recording = try DecryptedRecording(connection.stream, try #require(connection.secret))
        #expect(String(decoding: recording.plaintext, as: UTF8.self) == "no length")
        #expect(recording.hasEnded)
    }

    @Test(
        .holds("253"),
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", false, true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", false, false),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", true, false),
            ("HTTP/1.1 200 OK\r\n\r\n{}", true, true),
            ("HTTP/1.1 200 OK\r\n\r\n{}", false, false),
        ]
    ) func `a recorded answer is complete where that of a connection is`(
        said: String,
        ends: Bool,
        isComplete: Bool
    ) async throws {
        let connection = try RecordedConnection(.tlsv13)
        try connection.say(said)
        if ends { try connection.end() }
        let recording = try DecryptedRecording(connection.stream, try #require(connection.secret))
        let reply = try await RecordedResponseParser.read(recording, readsBody: true, on: Wire.eventLoop)
        #expect((reply != nil) == isComplete)
        #expect(reply?.body ?? Array("{}".utf8) == Array("{}".utf8))
    }

    @Test func `a recorded answer that is no HTTP is none`() async throws {
        let connection = try RecordedConnection(.tlsv13)
        try connection.say("<html>")
        let recording = try DecryptedRecording(connection.stream, try #require(connection.secret))
        await #expect(throws: UnusableRecordingError.notHTTP) {
            try await RecordedResponseParser.read(recording, readsBody: true, on: Wire.eventLoop)
        }
    }

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13]) func `many records come in order`(
        version: TLSVersion
    ) throws {
        let connection = try RecordedConnection(version)
        var said = ""
        for number in 0..<40 {
            let text = String(repeating: "\(number) ", count: 997)
            try connection.say(text)
            said += text
        }
        let recording = try DecryptedRecording(connection.stream, try #require(connection.secret))
        #expect(String(decoding: recording.plaintext, as: UTF8.self) == said)
    }

    @Test func `a hello that asks for another one is no hello`() throws {
        // The client offers a share of X25519 first, and this server wants another group.
        let connection = try RecordedConnection(.tlsv13, groups: [.secp384r1])
        try connection.say(Self.answer)
        let recording = try DecryptedRecording(connection.stream, try #require(connection.secret))
        #expect(String(decoding: recording.plaintext, as: UTF8.self) == Self.answer)
    }

    @Test(arguments: [TLSVersion.tlsv12, .tlsv13])
    func `a recording cut anywhere yields no more than was said`(
        version: TLSVersion
    ) throws {
        let connection = try RecordedConnection(version)
        let before = connection.stream.count
        try connection.say(Self.answer)
        let secret = try #require(connection.secret)
        for count in 0..<connection.stream.count {
            let recording = try DecryptedRecording(Array(connection.stream[..<count]), secret)
            #expect(recording.plaintext.isEmpty, "\(count) of \(connection.stream.count), \(before) before")
        }
        // Space that was allocated but not written.
        let padded = connection.stream + [UInt8](repeating: 0, count: 10_000)
        #expect(try DecryptedRecording(padded, secret).plaintext == Array(Self.answer.utf8))
    }

    /// The file as a starting agent finds it while the response arrives: allocated space follows the written bytes.
    @Test(arguments: ciphers) func `a record that is on its way is none yet, whatever stands in its place`(
        version: TLSVersion,
        cipher: NIOTLSCipher?
    ) throws {
        let connection = try RecordedConnection(version, cipher.map { [$0] })
        try connection.say("one ")
        try connection.say("other")
        let secret = try #require(connection.secret)
        for count in 0...connection.stream.count {
            let part = Array(connection.stream[..<count])
            let opened = try DecryptedRecording(part, secret).plaintext
            for room in [1, 30, 5_000] {
                let padded = part + [UInt8](repeating: 0, count: room)
                let found = try DecryptedRecording(padded, secret).plaintext
                // The last bytes of a record may be zeros themselves.
                #expect(found == opened || found.starts(with: opened) && connection.stream[count] == 0)
            }
        }
        #expect(try DecryptedRecording(connection.stream, secret).plaintext == Array("one other".utf8))
    }

    @Test(.holds("253"), arguments: [TLSVersion.tlsv12, .tlsv13])
    func `a changed bit of the answer opens nothing`(
        version: TLSVersion
    ) throws {
        let connection = try RecordedConnection(version)
        let before = connection.stream.count
        try connection.say(Self.answer)
        let secret = try #require(connection.secret)
        for bit in (before * 8)..<(connection.stream.count * 8) {
            var changed = connection.stream
            changed[bit / 8] ^= 1 << (bit % 8)
            let opened = try? DecryptedRecording(changed, secret).plaintext
            #expect(opened ?? [] == [], "bit \(bit)")
        }
    }

    @Test func `another connection's secret opens nothing`() throws {
        for version in [TLSVersion.tlsv12, .tlsv13] {
            let connection = try RecordedConnection(version)
            try connection.say(Self.answer)
            let other = try #require(try RecordedConnection(version).secret)
            let opened = try? DecryptedRecording(connection.stream, other).plaintext
            #expect(opened ?? [] == [])
        }
    }

    @Test func `a cipher that does not authenticate is not opened`() throws {
        let connection = try RecordedConnection(.tlsv12, [.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA])
        try connection.say(Self.answer)
        let secret = try #require(connection.secret)
        #expect(throws: UnusableRecordingError.unknownCipher(0xC009)) {
            try DecryptedRecording(connection.stream, secret)
        }
    }

    @Test(arguments: [
        "", "SERVER_TRAFFIC_SECRET_0", "CLIENT_RANDOM 00 00",
        "SERVER_TRAFFIC_SECRET_0 \(String(repeating: "0", count: 64)) 00",
        "CLIENT_TRAFFIC_SECRET_0 \(String(repeating: "0", count: 64)) \(String(repeating: "0", count: 64))",
        "CLIENT_RANDOM \(String(repeating: "0", count: 64)) \(String(repeating: "0", count: 64))",
    ]) func `a line that is no secret of ours is none`(line: String) {
        #expect(TLSSecret(line: Array(line.utf8)) == nil)
    }

    @Test func `bytes that are no TLS are none`() {
        let secret = TLSSecret.traffic([UInt8](repeating: 1, count: 32))
        #expect(throws: UnusableRecordingError.unreadable) {
            try DecryptedRecording(Array("HTTP/1.1 200 OK".utf8), secret)
        }
    }
}
