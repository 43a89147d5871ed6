// SPDX-License-Identifier: MIT

import TokenCore

/// The encoding of a host's own fleet state, in a session's record on disk.
///
/// ```
/// u32 epoch | u8 flags of the parts that follow: 1 record, 64 sending, 2 answer, 4 place, 8 attempt;
///             and of the state: 16 unpublished, 32 etcd was restored
/// record    header (``FleetCoding``)
/// sending   header of the parent | intent | u64 cluster
/// answer    header of the parent | intent | u64 mark | u64 cluster | u8 0 or 1, u64 cluster it is stored in
/// place | attempt | u8 count × (attempt | u32 length, sealed tokens)
/// ```
private struct SessionFleetStateFlags: OptionSet {
    let rawValue: UInt8

    static let record = SessionFleetStateFlags(rawValue: 1)
    static let answer = SessionFleetStateFlags(rawValue: 2)
    static let place = SessionFleetStateFlags(rawValue: 4)
    static let attempt = SessionFleetStateFlags(rawValue: 8)
    static let news = SessionFleetStateFlags(rawValue: 16)
    static let restored = SessionFleetStateFlags(rawValue: 32)
    static let sending = SessionFleetStateFlags(rawValue: 64)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(_ keeping: SessionFleetState) {
        self = []
        let memory = keeping.memory
        if memory.record != nil { insert(.record) }
        if memory.sending != nil { insert(.sending) }
        if memory.answer != nil { insert(.answer) }
        if memory.place != nil { insert(.place) }
        if keeping.attempt != nil { insert(.attempt) }
        if memory.isUnpublished { insert(.news) }
        if memory.isRestored { insert(.restored) }
    }
}

extension [UInt8] {
    mutating func append(_ keeping: SessionFleetState) {
        append(integer: keeping.epoch)
        append(SessionFleetStateFlags(keeping).rawValue)
        if let record = keeping.memory.record { append(record) }
        if let sending = keeping.memory.sending {
            append(sending.parent)
            append(sending.intent)
            append(integer: sending.cluster)
        }
        if let answer = keeping.memory.answer {
            append(answer.parent)
            append(answer.intent)
            append(integer: answer.tokenMark)
            append(integer: answer.cluster)
            append(answer.placedIn == nil ? 0 : 1)
            append(integer: answer.placedIn ?? 0)
        }
        if let place = keeping.memory.place { append(place) }
        if let attempt = keeping.attempt { append(attempt) }
        let others = keeping.others.sorted { $0.key < $1.key }.prefix(Int(UInt8.max))
        append(UInt8(clamping: others.count))
        for (attempt, sealed) in others {
            append(attempt)
            append(integer: UInt32(clamping: sealed.count))
            self += sealed
        }
    }
}

extension ByteReader {
    mutating func fleetKeeping() throws(RecordError) -> SessionFleetState {
        let epoch = try integer(UInt32.self)
        let kept = SessionFleetStateFlags(rawValue: try integer())
        var memory = FleetPersistentState()
        memory.isUnpublished = kept.contains(.news)
        memory.isRestored = kept.contains(.restored)
        if kept.contains(.record) { memory.record = try fleetHeader() }
        if kept.contains(.sending) {
            memory.sending = PendingSend(
                parent: try fleetHeader(),
                intent: try fleetIntent(),
                cluster: try integer()
            )
        }
        if kept.contains(.answer) { memory.answer = try fleetRefreshOutcome() }
        if kept.contains(.place) { memory.place = try fleetRevision() }
        var keeping = SessionFleetState(
            memory: memory,
            attempt: kept.contains(.attempt) ? try attempt() : nil,
            epoch: epoch
        )
        for _ in 0..<(try integer(UInt8.self)) {
            let attempt = try attempt()
            keeping.others[attempt] = try bytes(Int(try integer(UInt32.self)))
        }
        return keeping
    }

    private mutating func fleetRefreshOutcome() throws(RecordError) -> StoredRefreshResult {
        var answer = StoredRefreshResult(
            parent: try fleetHeader(),
            intent: try fleetIntent(),
            tokenMark: try integer(),
            cluster: try integer()
        )
        let isPlaced = try integer(UInt8.self) == 1
        let cluster: UInt64 = try integer()
        answer.placedIn = isPlaced ? cluster : nil
        return answer
    }
}
