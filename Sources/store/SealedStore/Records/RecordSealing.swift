// SPDX-License-Identifier: MIT

import SecretMemory

/// The sealing and opening of records.
enum RecordSealing {
    /// The maximum size of a sealed record in bytes.
    ///
    /// A login's own tokens are far smaller, because a server's response has at most 1 MiB.
    static let maximumCount = 8 << 20
    /// The maximum size in bytes of a record that is read: releases before there was a limit wrote longer
    /// ones.
    static let maximumReadCount = 32 << 20

    /// Seals `content` and puts `header` before it.
    static func seal(_ content: consuming WipedBytes, _ header: RecordHeader, under key: MasterKey) -> [UInt8]
    {
        var content = content
        content.pad(toMultipleOf: PaddedSealing.block)
        let bytes = header.serialized(plaintextCount: content.count)
        return unsafe content.read { content in
            unsafe key.withKey(for: .records, of: header.record) { key in
                unsafe bytes + AEAD.seal(content, associated: bytes, key: key)
            }
        }
    }

    /// Opens the record at the start of `bytes`, and calls `body` with the plaintext without its padding.
    ///
    /// The bytes after the record are ignored. The plaintext is wiped when `body` returns.
    static func open<Result>(
        _ bytes: [UInt8],
        of record: RandomID,
        under ring: KeyRing,
        _ body: (RecordHeader, UnsafeRawBufferPointer) throws(RecordError) -> Result
    ) throws(RecordError) -> Result {
        let (header, sealedCount) = try RecordHeader.parse(bytes)
        guard header.vault == ring.vault else { throw .otherVault }
        guard header.record == record else { throw .misplaced }
        guard bytes.count >= RecordHeader.count + sealedCount else { throw .truncated }
        guard let key = ring.key(epoch: header.epoch) else { throw .unknownKey(epoch: header.epoch) }
        return try unsafe key.withKey(for: .records, of: header.record) { key throws(RecordError) in
            try unsafe PaddedSealing.open(
                bytes[RecordHeader.count..<RecordHeader.count + sealedCount],
                associated: Array(bytes[..<RecordHeader.count]),
                key: key
            ) { plaintext throws(RecordError) in
                try unsafe body(header, plaintext)
            }
        }
    }
}
