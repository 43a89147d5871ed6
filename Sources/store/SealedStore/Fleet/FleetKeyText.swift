// SPDX-License-Identifier: MIT

import CSodium
import SecretMemory
import Text
import TokenCore

/// The keys of a fleet as one line of text, in a file, a credential or the output of a command.
///
/// ```
/// "tokenagent-fleet-" | "keeper" or "reader" | "-1:" | Base64, URL-safe, without padding
/// inside: fleet_id[16] | u8 length, label | name key[32] | u8 count | count × (u32 epoch | secret)
///         | checksum[32]
/// secret: keepers' 32 bytes; readers' 32 bytes and the public key of keepers' signatures
/// checksum = BLAKE2b-256(key: name key, all before it, with the text before the Base64)
/// ```
///
/// The newest epoch comes first, or second if nothing is to be sealed under it yet. Integers are little
/// endian. The checksum detects text that was truncated, mistyped or combined from two files. It does not
/// protect against attackers, because anyone who can change the file has the keys.
enum FleetKeyText {
    private static let version = 1
    private static let start = "tokenagent-fleet-"
    /// The maximum size of a text in bytes; four epochs and the longest label need 650.
    static let maximumCount = 1_024

    static func isLabel(_ label: String) -> Bool {
        (1...64).contains(label.utf8.count) && label.utf8.allSatisfy(\.isVisibleASCII)
    }

    private static func prefix(_ role: FleetRole) -> [UInt8] {
        Array("\(start)\(role.rawValue)-\(version):".utf8)
    }

    /// Returns the text of the keys for `role`, with a final line feed.
    ///
    /// - Throws: ``FleetKeyError/readersKey`` if keepers' keys are requested from readers' keys.
    static func text(of keys: FleetKeys, for role: FleetRole) throws(FleetKeyError) -> GuardedBytes {
        let prefix = prefix(role)
        var content = WipedBytes()
        content.append(keys.fleet)
        content.append(UInt8(clamping: keys.label.utf8.count))
        for byte in keys.label.utf8 { content.append(byte) }
        unsafe keys.withNameKey { unsafe content.append($0) }
        content.append(UInt8(clamping: keys.epochs.count))
        for epoch in keys.epochs {
            content.append(integer: epoch)
            let isWritten = unsafe keys.withSecret(of: epoch, for: role) { secret in
                unsafe content.append(secret)
                return true
            }
            guard isWritten == true else { throw .readersKey }
        }
        let checksum = unsafe content.read { content -> [UInt8] in
            unsafe keys.withNameKey { unsafe FleetKeyText.checksum(prefix, content, key: $0) }
        }
        for byte in checksum { content.append(byte) }
        return try unsafe content.read { content throws(FleetKeyError) in
            try unsafe text(prefix, content)
        }
    }

    private static func text(
        _ prefix: [UInt8],
        _ content: UnsafeRawBufferPointer
    ) throws(FleetKeyError) -> GuardedBytes {
        let room = sodium_base64_encoded_len(content.count, variant)
        // The library terminates its text with a zero byte, which the line feed replaces.
        let text = try guarded(prefix.count + room)
        unsafe text.write { text in
            unsafe text.copyBytes(from: prefix)
            guard let digits = unsafe text.baseAddress?.advanced(by: prefix.count) else { return }
            unsafe sodium_bin2base64(
                digits.assumingMemoryBound(to: CChar.self),
                room,
                content.baseAddress?.assumingMemoryBound(to: UInt8.self),
                content.count,
                variant
            )
            unsafe text[text.count - 1] = UInt8(ascii: "\n")
        }
        return text
    }

    private static let variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING

    /// Parses the text given to a host with `role`; blanks and line ends after it are ignored.
    static func keys(in text: GuardedBytes, for role: FleetRole) throws(FleetKeyError) -> FleetKeys {
        try unsafe text.read { text throws(FleetKeyError) in
            guard text.count <= maximumCount else { throw .notAKey }
            let end = unsafe text.lastIndex { $0.isVisibleASCII }.map { $0 + 1 } ?? 0
            let text = unsafe UnsafeRawBufferPointer(rebasing: text[..<end])
            let prefix = prefix(role)
            guard unsafe text.starts(with: prefix) else { throw unsafe stranger(text, role) }
            let content = try unsafe decoded(UnsafeRawBufferPointer(rebasing: text[prefix.count...]))
            return try unsafe content.bytes.read { bytes throws(FleetKeyError) in
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<content.count])
                return try unsafe keys(in: bytes, for: role, prefix)
            }
        }
    }

    /// Returns the error for a text with the wrong prefix.
    private static func stranger(_ text: UnsafeRawBufferPointer, _ role: FleetRole) -> FleetKeyError {
        for other in FleetRole.allCases {
            let word = Array("\(start)\(other.rawValue)-".utf8)
            guard unsafe text.starts(with: word) else { continue }
            let digits = unsafe text[word.count...].prefix { $0.isASCIIDigit }.prefix(4)
            let number = unsafe String(decoding: digits, as: UTF8.self)
            guard let found = Int(number) else { return .notAKey }
            guard found == version else { return found > version ? .futureVersion(found) : .notAKey }
            guard other == role else { return other == .keeper ? .keepersKey : .readersKey }
        }
        return .notAKey
    }

    private static func decoded(
        _ digits: UnsafeRawBufferPointer
    ) throws(FleetKeyError) -> (bytes: GuardedBytes, count: Int) {
        // The library accepts some bytes beyond ASCII as digits.
        guard unsafe digits.isVisibleWord else { throw .damaged }
        let content = try guarded(digits.count)
        var count = 0
        let status = unsafe content.write { content -> Int32 in
            guard let place = unsafe content.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return -1
            }
            return unsafe sodium_base642bin(
                place,
                content.count,
                digits.baseAddress?.assumingMemoryBound(to: CChar.self),
                digits.count,
                nil,
                &count,
                nil,
                variant
            )
        }
        guard status == 0 else { throw .damaged }
        return (content, count)
    }

    private static func keys(
        in content: UnsafeRawBufferPointer,
        for role: FleetRole,
        _ prefix: [UInt8]
    ) throws(FleetKeyError) -> FleetKeys {
        do {
            var reader = unsafe ByteReader(content)
            let fleet = try reader.id()
            let label = try reader.text(Int(try reader.integer(UInt8.self)))
            let nameKey = unsafe try reader.take(AEAD.keyCount)
            let count = Int(try reader.integer(UInt8.self))
            guard isLabel(label), (1...FleetKeys.maximumEpochs).contains(count) else {
                throw FleetKeyError.damaged
            }
            var epochs: [UInt32] = []
            var secrets: [UnsafeRawBufferPointer] = unsafe [nameKey]
            for _ in 0..<count {
                epochs.append(try reader.integer())
                unsafe secrets.append(try reader.take(role.secretCount))
            }
            let body = unsafe UnsafeRawBufferPointer(rebasing: content[..<reader.offset])
            let expected = unsafe checksum(prefix, body, key: nameKey)
            let isWhole = CryptoPrimitives.areEqual(try reader.bytes(expected.count), expected)
            guard isWhole, reader.remaining == 0, isFalling(epochs) else { throw FleetKeyError.damaged }
            return try unsafe FleetKeys(
                fleet: fleet,
                label: label,
                role: role,
                epochs: epochs
            ) { all in
                var place = 0
                for index in unsafe secrets.indices {
                    let secret = unsafe secrets[index]
                    unsafe UnsafeMutableRawBufferPointer(rebasing: all[place..<place + secret.count])
                        .copyMemory(from: secret)
                    place += secret.count
                }
            }
        } catch let fault as FleetKeyError {
            throw fault
        } catch {
            throw .damaged
        }
    }

    /// Returns whether the epochs are positive and descending; the second may be newer than all others.
    private static func isFalling(_ epochs: [UInt32]) -> Bool {
        var epochs = epochs
        if epochs.count > 1, epochs[1] > epochs[0] { epochs.swapAt(0, 1) }
        return zip(epochs, epochs.dropFirst()).allSatisfy { $0 > $1 } && (epochs.last ?? 0) > 0
    }

    private static func checksum(
        _ prefix: [UInt8],
        _ content: UnsafeRawBufferPointer,
        key: UnsafeRawBufferPointer
    ) -> [UInt8] {
        var all = WipedBytes()
        unsafe prefix.withUnsafeBytes { unsafe all.append($0) }
        unsafe all.append(content)
        return unsafe all.read { unsafe CryptoPrimitives.code(of: $0, key: key) }
    }

    private static func guarded(_ count: Int) throws(FleetKeyError) -> GuardedBytes {
        do throws(SealedMemoryError) {
            return try GuardedBytes(count: count)
        } catch {
            throw .outOfMemory
        }
    }
}
