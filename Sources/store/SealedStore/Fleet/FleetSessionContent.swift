// SPDX-License-Identifier: MIT

import SecretMemory
import TokenCore

/// A session as shared by the hosts of a fleet.
package struct FleetSessionContent: Equatable, Sendable {
    package var snapshot: SessionSnapshot
    package var binding: FleetLoginSettings

    package init(snapshot: SessionSnapshot, binding: FleetLoginSettings) {
        self.snapshot = snapshot
        self.binding = binding
    }
}

/// The part of the content that goes into a value.
enum FleetContentPart {
    /// The part for keepers: everything but the access tokens, which are in the value for readers.
    case keepers
    /// The part for readers: access tokens and displayed data, but nothing that is usable at the token
    /// endpoint.
    case readers
    /// Everything, for a late response.
    case all
}

extension FleetSessionContent {
    func part(_ part: FleetContentPart) -> FleetSessionContent {
        var content = self
        // This state belongs to each host alone.
        content.snapshot.fleet = nil
        switch part {
        case .keepers: content.snapshot.tokens = [:]
        case .readers:
            content.snapshot.renewal = .impossible
            content.snapshot.proofKey = nil
        case .all: break
        }
        return content
    }

    /// The content with only the session's own token.
    var withoutVariants: FleetSessionContent {
        var content = self
        content.snapshot = snapshot.withoutVariants
        return content
    }
}

/// A field in the plaintext of a value: a tag, a 4-byte length and the content; unknown fields are skipped.
private enum FleetField: UInt8 {
    /// The plaintext of ``SnapshotEncoder``.
    case snapshot = 1
    /// The four texts of ``FleetLoginSettings``.
    case binding = 2
}

/// A writer of the plaintext of a value.
struct FleetContentWriter: ~Copyable {
    private var bytes = WipedBytes()

    /// Encodes a session.
    ///
    /// - Parameters:
    ///   - session: the name of the session.
    ///   - content: the session, or `nil` if it is logged out.
    ///   - memory: contains its secrets.
    ///   - clock: dates its times.
    ///   - sealing: seals its long-lived secrets.
    /// - Returns: the plaintext, without padding.
    /// - Throws: ``StorageFailure`` if one of its secrets is not available.
    static func encode(
        _ session: SessionName,
        _ content: FleetSessionContent?,
        secrets memory: SealedMemory,
        at clock: EtcdClockReading,
        under sealing: any SecretSealing
    ) throws(StorageFailure) -> WipedBytes {
        var writer = FleetContentWriter()
        if let content {
            let snapshot = try SnapshotEncoder.encode(
                session,
                content.snapshot.movingWallTimes(by: clock.lead),
                secrets: memory,
                at: clock.reading,
                under: sealing
            )
            writer.add(.snapshot, snapshot)
            var binding = WipedBytes()
            for text in content.binding.texts { binding.append(text) }
            writer.add(.binding, binding)
        }
        return writer.finished()
    }

    private consuming func finished() -> WipedBytes { bytes }

    private mutating func add(_ field: FleetField, _ content: borrowing WipedBytes) {
        bytes.append(field.rawValue)
        bytes.append(integer: UInt32(clamping: content.count))
        unsafe content.read { unsafe bytes.append($0) }
    }
}

/// A reader of what ``FleetContentWriter`` wrote, which puts the secrets into sealed memory.
struct FleetContentReader {
    private(set) var snapshot: SessionSnapshot?
    private(set) var binding: FleetLoginSettings?

    /// The whole content, or `nil` if the session is logged out.
    var content: FleetSessionContent? {
        guard let snapshot, let binding else { return nil }
        return FleetSessionContent(snapshot: snapshot, binding: binding)
    }

    /// Reads a plaintext without its padding; if that fails, nothing stays in `memory`.
    init(
        _ bytes: UnsafeRawBufferPointer,
        of session: SessionName,
        secrets memory: SealedMemory,
        at clock: EtcdClockReading,
        under sealing: (any SecretSealing)?
    ) throws(RecordError) {
        do {
            var reader = unsafe ByteReader(bytes)
            var seen: Set<FleetField> = []
            while reader.remaining > 0 {
                let tag = try reader.integer(UInt8.self)
                let content = unsafe try reader.take(Int(try reader.integer(UInt32.self)))
                guard let field = FleetField(rawValue: tag) else { continue }
                guard seen.insert(field).inserted else {
                    throw RecordError.malformed("it has a duplicate field")
                }
                try unsafe read(field, content, session, memory, clock, sealing)
            }
            guard (snapshot == nil) == (binding == nil) else {
                throw RecordError.malformed("it is incomplete")
            }
        } catch {
            for secret in snapshot?.secrets ?? [] { memory.erase(secret) }
            throw RecordError(ofContent: error)
        }
    }

    private mutating func read(
        _ field: FleetField,
        _ content: UnsafeRawBufferPointer,
        _ session: SessionName,
        _ memory: SealedMemory,
        _ clock: EtcdClockReading,
        _ sealing: (any SecretSealing)?
    ) throws {
        var reader = unsafe ByteReader(content)
        switch field {
        case .snapshot:
            let (name, found) = try unsafe SnapshotDecoder.decode(
                content,
                secrets: memory,
                at: clock.reading,
                under: sealing
            )
            snapshot = found.movingWallTimes(by: .zero - clock.lead)
            guard name == session else { throw RecordError.malformed("it is of another session") }
            return
        case .binding:
            binding = FleetLoginSettings(
                kind: try reader.required(),
                issuer: try reader.required(),
                client: try reader.required(),
                endpoint: try reader.required()
            )
        }
        guard reader.remaining == 0 else { throw RecordError.malformed("a field is too long") }
    }
}
