// SPDX-License-Identifier: MIT

import TokenCore

/// The clear part of a value, authenticated with it.
enum FleetClearPart: Equatable {
    /// The header of `rt` and `at`.
    case record(FleetHeader)
    case late(LateResponse)
    case intent(FleetIntent)
    case want(FleetRefreshRequest)
    case host
    case kept

    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .record(let header): bytes.append(header)
        case .late(let late): bytes.append(late)
        case .intent(let intent): bytes.append(intent)
        case .want(let want): bytes.append(want)
        case .host, .kept: break
        }
        return bytes
    }
}

/// An unopened value of the fleet in etcd, untrusted until ``FleetSealing`` has verified it.
///
/// ```
/// "TKAFLT\0" | u8 version 1 | u16 suite 1 | u8 1 rt, 2 at, 3 late, 4 intent, 5 want, 6 kept, 7 host
/// u32 epoch | clear part, then
/// rt, late, kept, host   nonce[24] | ciphertext | tag[16]
/// at                     nonce[24] | ciphertext | tag[16] | Ed25519 signature[64]
/// intent, want           mac[32]
/// ```
struct FleetValue {
    private static let magic = Array("TKAFLT\0".utf8)
    private static let version: UInt8 = 1
    /// The maximum size in bytes of a value that is read: etcd accepts no larger request
    /// (`--max-request-bytes`).
    static let maximumReadCount = 3 << 19

    let epoch: UInt32
    let clear: FleetClearPart
    /// The bytes before the nonce or the MAC.
    let authenticated: [UInt8]
    /// The bytes from the nonce or the MAC on.
    let sealed: ArraySlice<UInt8>

    /// Returns the bytes before the nonce or the MAC of a value under `key`.
    static func head(_ clear: FleetClearPart, under key: FleetEtcdKey, epoch: UInt32) -> [UInt8] {
        var bytes = magic
        bytes.append(version)
        bytes.append(integer: VaultFile.suite)
        bytes.append(key.kind.code)
        bytes.append(integer: epoch)
        return bytes + clear.bytes
    }

    /// Parses a value found under `key`.
    init(_ bytes: [UInt8], under key: FleetEtcdKey) throws(FleetValueError) {
        guard bytes.count <= FleetValue.maximumReadCount else { throw .tooLong(bytes.count) }
        do {
            let (epoch, clear, count) = try bytes.read { try FleetValue.parse(&$0, under: key) }
            self.epoch = epoch
            self.clear = clear
            authenticated = Array(bytes[..<count])
            sealed = bytes[count...]
        } catch let fault as FleetValueError {
            throw fault
        } catch RecordError.malformed(let reason) {
            throw .malformed(reason)
        } catch {
            throw .truncated
        }
    }

    private static func parse(
        _ reader: inout ByteReader,
        under key: FleetEtcdKey
    ) throws -> (UInt32, FleetClearPart, Int) {
        guard try reader.bytes(magic.count) == magic else { throw FleetValueError.notAValue }
        let version = try reader.integer(UInt8.self)
        guard version <= Self.version else { throw FleetValueError.futureVersion(Int(version)) }
        guard version == Self.version, try reader.integer(UInt16.self) == VaultFile.suite,
            try reader.integer(UInt8.self) == key.kind.code
        else { throw FleetValueError.notAValue }
        let epoch = try reader.integer(UInt32.self)
        let clear: FleetClearPart =
            switch key.kind {
            case .record, .access: .record(try reader.fleetHeader())
            case .late: .late(try reader.lateResponse())
            case .intent: .intent(try reader.fleetIntent())
            case .want: .want(try reader.fleetRefreshRequest())
            case .host: .host
            case .kept: .kept
            case .lock: throw FleetValueError.notAValue
            }
        return (epoch, clear, reader.offset)
    }
}

extension FleetEtcdKey.Kind {
    /// The type code in values under such a key.
    fileprivate var code: UInt8 { form.code }

    /// The purpose of the key that seals or signs the value, or `nil` if none does.
    var purpose: FleetKeys.Purpose? { form.purpose }

    private var form: (code: UInt8, purpose: FleetKeys.Purpose?) {
        switch self {
        case .record: (1, .refreshTokens)
        case .access: (2, .accessTokens)
        case .late: (3, .refreshTokens)
        case .intent: (4, .intents)
        case .want: (5, .wants)
        case .kept: (6, .refreshTokens)
        // Readers publish a description too.
        case .host: (7, .accessTokens)
        // A lock contains only the attempt that owns it.
        case .lock: (0, nil)
        }
    }
}
