// SPDX-License-Identifier: MIT

import Text
import TokenCore

/// The encoding of the fleet's values, in etcd and in records on disk; integers are little endian.
///
/// ```
/// lineage  u64 number | u128 id            attempt  u64 host | u64 random
/// header   lineage | u64 generation | attempt | u8 1 live, 2 rescued, 3 dead, 4 out
///          | u8 length, reason if dead | u64 proven | u64 mark of the refresh token | u64 cluster
/// late     lineage | u64 parent | attempt | u64 mark | u64 cluster
/// intent   lineage | u64 generation | attempt | i64 at | i64 first | u8 count, attempts
///          | u8 1 refused, else 0
/// want     lineage | u64 generation        place    u64 cluster | i64 revision
/// host     u64 id | u8 1 keeper, 2 reader | i64 seen | u8 length, label | u8 length, version
/// ```
extension [UInt8] {
    mutating func append(_ lineage: Lineage) {
        append(integer: lineage.number)
        append(integer: lineage.id)
    }

    mutating func append(_ attempt: AttemptID) {
        append(integer: attempt.host)
        append(integer: attempt.random)
    }

    mutating func append(_ header: FleetHeader) {
        append(header.lineage)
        append(integer: header.generation)
        append(header.attempt)
        append(header.status.code)
        if case .dead(let reason) = header.status {
            append(UInt8(clamping: reason.rawValue.utf8.count))
            self += reason.rawValue.utf8
        }
        append(integer: header.proven)
        append(integer: header.tokenMark)
        append(integer: header.cluster)
    }

    mutating func append(_ late: LateResponse) {
        append(late.lineage)
        append(integer: late.parent)
        append(late.attempt)
        append(integer: late.tokenMark)
        append(integer: late.cluster)
    }

    mutating func append(_ intent: FleetIntent) {
        append(intent.lineage)
        append(integer: intent.generation)
        append(intent.attempt)
        append(integer: intent.at.seconds)
        append(integer: intent.first.seconds)
        append(UInt8(clamping: intent.before.count))
        for attempt in intent.before { append(attempt) }
        append(intent.isRefused ? 1 : 0)
    }

    mutating func append(_ host: HostDescription) {
        append(integer: host.id)
        append(host.role == .keeper ? 1 : 2)
        append(integer: host.seen.seconds)
        for text in [host.label, host.version] {
            let bytes = text.utf8.prefix(64)
            append(UInt8(bytes.count))
            self += bytes
        }
    }

    mutating func append(_ want: FleetRefreshRequest) {
        append(want.lineage)
        append(integer: want.generation)
    }

    mutating func append(_ place: FleetRevision) {
        append(integer: place.cluster)
        append(integer: place.revision)
    }
}

extension ByteReader {
    mutating func lineage() throws(RecordError) -> Lineage {
        Lineage(number: try integer(), id: try integer())
    }

    mutating func attempt() throws(RecordError) -> AttemptID {
        AttemptID(host: try integer(), random: try integer())
    }

    mutating func fleetHeader() throws(RecordError) -> FleetHeader {
        FleetHeader(
            lineage: try lineage(),
            generation: try integer(),
            attempt: try attempt(),
            status: try fleetStatus(),
            proven: try integer(),
            tokenMark: try integer(),
            cluster: try integer()
        )
    }

    private mutating func fleetStatus() throws(RecordError) -> FleetHeader.LoginStatus {
        switch try integer(UInt8.self) {
        case 1: return .live
        case 2: return .rescued
        case 3:
            guard let reason = EndReason(word: try text(Int(try integer(UInt8.self)))) else {
                throw .malformed("the reason for the end of the login is unknown")
            }
            return .dead(reason)
        case 4: return .out
        default: throw .malformed("its status is unknown")
        }
    }

    mutating func lateResponse() throws(RecordError) -> LateResponse {
        LateResponse(
            lineage: try lineage(),
            parent: try integer(),
            attempt: try attempt(),
            tokenMark: try integer(),
            cluster: try integer()
        )
    }

    mutating func fleetIntent() throws(RecordError) -> FleetIntent {
        var intent = FleetIntent(
            lineage: try lineage(),
            generation: try integer(),
            attempt: try attempt(),
            at: FleetTime(seconds: try integer()),
            first: FleetTime(seconds: try integer()),
            before: []
        )
        let count = Int(try integer(UInt8.self))
        guard count <= FleetIntent.maximumPredecessors else {
            throw .malformed("it has too many previous attempts")
        }
        for _ in 0..<count { intent.before.append(try attempt()) }
        switch try integer(UInt8.self) {
        case 0: intent.isRefused = false
        case 1: intent.isRefused = true
        default: throw .malformed("its rejection flag is unknown")
        }
        return intent
    }

    mutating func fleetRefreshRequest() throws(RecordError) -> FleetRefreshRequest {
        FleetRefreshRequest(lineage: try lineage(), generation: try integer())
    }

    mutating func fleetHost() throws(RecordError) -> HostDescription {
        let id: UInt64 = try integer()
        let role: FleetRole
        switch try integer(UInt8.self) {
        case 1: role = .keeper
        case 2: role = .reader
        default: throw .malformed("its role is unknown")
        }
        let seen = FleetTime(seconds: try integer())
        let label = try text(Int(try integer(UInt8.self)))
        let version = try text(Int(try integer(UInt8.self)))
        guard (label + version).utf8.allSatisfy(\.isVisibleASCII) else {
            throw .malformed("its name contains invisible characters")
        }
        return HostDescription(id: id, role: role, label: label, version: version, seen: seen)
    }

    mutating func fleetRevision() throws(RecordError) -> FleetRevision {
        FleetRevision(cluster: try integer(), revision: try integer())
    }
}

extension FleetHeader.LoginStatus {
    fileprivate var code: UInt8 {
        switch self {
        case .live: 1
        case .rescued: 2
        case .dead: 3
        case .out: 4
        }
    }
}

/// A request for new tokens, by a host that cannot refresh or whose token was rejected.
package struct FleetRefreshRequest: Hashable, Sendable {
    package var lineage: Lineage
    /// The generation whose tokens are no longer usable.
    package var generation: UInt64

    package init(lineage: Lineage, generation: UInt64) {
        self.lineage = lineage
        self.generation = generation
    }
}
