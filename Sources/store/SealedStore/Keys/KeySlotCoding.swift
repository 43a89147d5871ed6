// SPDX-License-Identifier: MIT

import TokenCore

/// The encoding of a slot on disk: `u8 type | u8 flags | u16 length | body`, integers little endian.
///
/// | type | body |
/// |---|---|
/// | 1 passphrase | `u8 2 (Argon2id13) | u32 operations | u32 memory in KiB | salt[16] | wrapped[72]` |
/// | 2 key file | `salt[16] | wrapped[72] | path` (path only with flag 1) |
/// | 3 external | `u8 provider | u16 length | name | salt[16] | wrapped[72]` |
/// | 4 previous key | `u32 epoch | wrapped[72]` |
///
/// With flag 1, type 3 has the parameters of type 1 (algorithm, operations, memory, salt) instead of `salt`.
/// With flag 2, which version 1 of the file does not have, the creation time follows the wrapped key, as
/// `i64 seconds since 1970`.
extension KeySlot {
    /// The flag of a slot that has the optional part of its type.
    private static let extended: UInt8 = 1
    /// The flag of a slot that has a creation time.
    private static let dated: UInt8 = 2
    private static let argon2id13: UInt8 = 2

    func append(to bytes: inout [UInt8]) {
        let parameters = parameters
        let trailer = trailer
        bytes.append(source.type)
        bytes.append(flags)
        // The length fits: a new slot has at most ``maximumTextLength`` bytes of text, and one that was read had
        // this field.
        bytes.append(integer: UInt16(clamping: parameters.count + wrapped.count + trailer.count))
        bytes += parameters
        bytes += wrapped
        bytes += trailer
    }

    /// The bytes of the slot other than the wrapped key, authenticated with it.
    var authenticated: [UInt8] {
        [source.type, flags] + parameters + trailer
    }

    private var flags: UInt8 {
        (isExtended ? KeySlot.extended : 0) | (madeAt == nil ? 0 : KeySlot.dated)
    }

    private var isExtended: Bool {
        switch (source, stretching) {
        case (.keyFile(path: .some), _), (.external, .argon2id): true
        case (.passphrase, _), (.keyFile, _), (.external, _), (.previousKey, _): false
        }
    }

    private var parameters: [UInt8] {
        var bytes: [UInt8] = []
        switch source {
        case .passphrase, .keyFile: break
        case .external(let provider, let name):
            bytes.append(provider.rawValue)
            bytes.append(integer: UInt16(clamping: name.utf8.count))
            bytes += name.utf8
        case .previousKey(let epoch): bytes.append(integer: epoch)
        }
        switch stretching {
        case .argon2id(let cost, let salt):
            bytes.append(KeySlot.argon2id13)
            bytes.append(integer: cost.operations)
            bytes.append(integer: cost.memoryKiB)
            bytes.append(salt)
        case .hash(let salt): bytes.append(salt)
        case .none: break
        }
        return bytes
    }

    private var trailer: [UInt8] {
        var bytes: [UInt8] = []
        if let madeAt { bytes.append(integer: madeAt.secondsSince1970) }
        if case .keyFile(let path?) = source { bytes += path.utf8 }
        return bytes
    }

    /// Reads one slot of a vault file of `version`.
    init(_ reader: inout ByteReader, version: UInt8) throws(RecordError) {
        let type = try reader.integer(UInt8.self)
        let flags = try reader.integer(UInt8.self)
        let known = version == 1 ? KeySlot.extended : KeySlot.extended | KeySlot.dated
        guard flags & ~known == 0 else { throw .malformed("a slot has unknown flags") }
        let count = Int(try reader.integer(UInt16.self))
        var body = unsafe ByteReader(try reader.take(count))
        let isDated = flags & KeySlot.dated != 0
        try self.init(type: type, isExtended: flags & KeySlot.extended != 0, isDated: isDated, &body)
        guard body.remaining == 0 else { throw .malformed("a slot has trailing bytes") }
    }

    private init(
        type: UInt8,
        isExtended: Bool,
        isDated: Bool,
        _ body: inout ByteReader
    ) throws(RecordError) {
        func wrappedKey() throws(RecordError) -> ([UInt8], WallTime?) {
            let wrapped = try body.bytes(KeySlot.wrappedCount)
            return (wrapped, isDated ? WallTime(secondsSince1970: try body.integer()) : nil)
        }
        switch type {
        case 1 where !isExtended:
            source = .passphrase
            stretching = try KeySlot.argon2id(&body)
            (wrapped, madeAt) = try wrappedKey()
        case 2:
            stretching = .hash(salt: try body.id())
            (wrapped, madeAt) = try wrappedKey()
            source = .keyFile(path: isExtended ? try body.text(body.remaining) : nil)
        case 3:
            source = try KeySlot.external(&body)
            stretching = isExtended ? try KeySlot.argon2id(&body) : .hash(salt: try body.id())
            (wrapped, madeAt) = try wrappedKey()
        case 4 where !isExtended:
            source = .previousKey(epoch: try body.integer())
            stretching = .none
            (wrapped, madeAt) = try wrappedKey()
        default: throw .malformed("slot type \(type) is unknown")
        }
    }

    private static func argon2id(_ body: inout ByteReader) throws(RecordError) -> KeyStretching {
        guard try body.integer(UInt8.self) == argon2id13 else {
            throw .malformed("a passphrase slot names an unknown algorithm")
        }
        let cost = PassphraseCost(operations: try body.integer(), memoryKiB: try body.integer())
        return .argon2id(cost, salt: try body.id())
    }

    private static func external(_ body: inout ByteReader) throws(RecordError) -> KeySource {
        guard let provider = ExternalProvider(rawValue: try body.integer()) else {
            throw .malformed("a slot names an unknown provider")
        }
        let count = Int(try body.integer(UInt16.self))
        return .external(provider, name: try body.text(count))
    }
}
