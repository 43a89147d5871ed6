// SPDX-License-Identifier: MIT

import Crypto

/// What a server said in one connection, opened afterwards from its recorded bytes.
///
/// Only for ciphers that authenticate what they hide (AEAD): a byte that the server did not send opens nothing.
struct DecryptedRecording {
    /// What the server sent as data, up to where the recording ends.
    private(set) var plaintext: [UInt8] = []
    /// Whether the server has said that nothing follows (`close_notify`).
    private(set) var hasEnded = false

    /// The kinds of records (RFC 8446 §5.1).
    private enum Kind {
        static let changeCipherSpec: UInt8 = 20
        static let alert: UInt8 = 21
        static let handshake: UInt8 = 22
        static let data: UInt8 = 23
    }

    /// Bytes before a record's content: kind, version, length.
    private static let headCount = 5
    /// Bytes of the longest record (RFC 5246 §6.2.3).
    private static let longest = (1 << 14) + 2048

    private let secret: TLSSecret
    /// The hello messages, of which there are two after a retry request; in TLS 1.3, also what comes after the handshake.
    private var messages = HandshakeMessages()
    private var cipher: RecordCipher?
    /// In TLS 1.2, whether what follows is sealed.
    private var isSealed = false
    /// In TLS 1.3, whether the first record under our secret has come: those before are the handshake's.
    private var hasBegun = false

    /// Opens `stream`, the server's bytes from the connection's beginning, as far as whole records go.
    ///
    /// Zeros at its end may be room that nothing was written to yet, also within the last record.
    ///
    /// - Throws: ``UnusableRecordingError``: `unknownCipher`, `unreadable`, `forged`.
    init(_ stream: [UInt8], _ secret: TLSSecret) throws(UnusableRecordingError) {
        self.secret = secret
        var rest = stream[...]
        while rest.count >= DecryptedRecording.headCount, !hasEnded {
            let head = Array(rest.prefix(DecryptedRecording.headCount))
            let count = Int(head[3]) << 8 | Int(head[4])
            // Room that was allocated and never written to.
            if head.allSatisfy({ $0 == 0 }) { return }
            guard (20...23).contains(head[0]), count <= DecryptedRecording.longest else {
                throw cipher == nil ? .unreadable : .forged
            }
            guard rest.count >= DecryptedRecording.headCount + count else { return }
            let content = rest.dropFirst(DecryptedRecording.headCount).prefix(count)
            rest = rest.dropFirst(DecryptedRecording.headCount + count)
            do throws(UnusableRecordingError) {
                try take(head, content)
            } catch {
                let last = content.last ?? head[DecryptedRecording.headCount - 1]
                guard last == 0, rest.allSatisfy({ $0 == 0 }) else { throw error }
                // It is on its way.
                return
            }
        }
    }

    private mutating func take(_ head: [UInt8], _ content: ArraySlice<UInt8>) throws(UnusableRecordingError) {
        switch (secret, head[0]) {
        case (.traffic, Kind.data): try openLater(head, content)
        case (.master, _) where isSealed: try open(head, content)
        case (.master, Kind.changeCipherSpec): isSealed = true
        case (_, Kind.handshake) where cipher == nil:
            messages.add(content)
            try readGreeting()
        default: return
        }
    }

    /// Finds the cipher in the server's hello, once that is complete (RFC 8446 §4.1.3).
    private mutating func readGreeting() throws(UnusableRecordingError) {
        while let (kind, message) = messages.next().map({ ($0.kind, $0.content) }) {
            // Version, random value, session identifier, cipher suite.
            guard kind == 2, message.count > 34 else { continue }
            let suitePlace = 35 + Int(message[34])
            guard message.count >= suitePlace + 2 else { throw .unreadable }
            let random = Array(message[2..<34])
            guard random != DecryptedRecording.retryRequest else { continue }
            let suite = UInt16(message[suitePlace]) << 8 | UInt16(message[suitePlace + 1])
            guard let cipher = RecordCipher(suite, secret, server: random) else {
                throw .unknownCipher(suite)
            }
            self.cipher = cipher
            messages = HandshakeMessages()
            return
        }
    }

    /// The random value of a hello that asks for another one (RFC 8446 §4.1.3).
    private static let retryRequest = Array(SHA256.hash(data: Array("HelloRetryRequest".utf8)))

    /// Opens a record of TLS 1.3; the kind of its content stands at its end, before any padding (RFC 8446 §5.2).
    private mutating func openLater(
        _ head: [UInt8],
        _ content: ArraySlice<UInt8>
    ) throws(UnusableRecordingError) {
        guard cipher != nil else { throw .unreadable }
        guard let opened = cipher?.open(content, associated: head) else {
            // Still under the handshake's secret, which was not kept.
            guard hasBegun else { return }
            throw .forged
        }
        hasBegun = true
        guard let end = opened.lastIndex(where: { $0 != 0 }) else { throw .forged }
        try takeOpened(opened[end], opened[..<end])
    }

    private mutating func open(_ head: [UInt8], _ content: ArraySlice<UInt8>) throws(UnusableRecordingError) {
        guard cipher != nil else { throw .unreadable }
        guard let opened = cipher?.open(content, kindAndVersion: Array(head.prefix(3))) else { throw .forged }
        try takeOpened(head[0], opened[...])
    }

    private mutating func takeOpened(
        _ kind: UInt8,
        _ content: ArraySlice<UInt8>
    ) throws(UnusableRecordingError) {
        switch kind {
        case Kind.data: plaintext += content
        // Every alert but this one is an error, after which nothing follows either.
        case Kind.alert: hasEnded = content.count == 2 && content.last == 0
        case Kind.handshake where hasBegun:
            messages.add(content)
            try followUpdates()
        default: return
        }
    }

    /// Goes on to the server's next secret behind each message that says so (RFC 8446 §4.6.3, §7.2).
    private mutating func followUpdates() throws(UnusableRecordingError) {
        while let message = messages.next() {
            guard message.kind == 24 else { continue }
            // No message goes over a change of keys (RFC 8446 §5.1).
            guard !messages.isWithin else { throw .forged }
            cipher?.update()
        }
    }
}
