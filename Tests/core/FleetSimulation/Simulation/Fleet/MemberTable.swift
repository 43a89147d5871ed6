// SPDX-License-Identifier: MIT

import TokenCore

/// All members of the fleet: a ``FleetMember`` for each session on each host.
///
/// An idle member is stored only as the index of its record and its revision in etcd's history. An equal
/// ``FleetMember`` is created from these when something happens. A million idle members take a few megabytes.
struct MemberTable {
    struct Active {
        var member: FleetMember
        /// The time of the member's next wake event, if that is on the agenda.
        var wakeAt: Int64?
        /// The time at which its session first requested the refresh.
        var wantedAt: Int64?
        /// Whether the member has requested a refresh since it was last idle.
        var isBusy = false
        /// Whether the member waits for another host.
        var isHeld = false
    }

    private let timing: FleetTiming
    /// The index of the member's record in the session's history.
    var known: [Int32]
    private var revisions: [Int64]
    /// The number of times a member's due time has changed.
    private(set) var stamps: [UInt32]
    /// The number of consecutive failures of the member's session.
    var failures: [UInt8]
    private var slots: [Int32]
    var active: ContiguousArray<Active> = []
    private var freeSlots: [Int32] = []

    init(count: Int, timing: FleetTiming) {
        self.timing = timing
        known = [Int32](repeating: 0, count: count)
        revisions = [Int64](repeating: 1, count: count)
        stamps = [UInt32](repeating: 0, count: count)
        failures = [UInt8](repeating: 0, count: count)
        slots = [Int32](repeating: -1, count: count)
    }

    /// The number of members that are not idle.
    var activeCount: Int { active.count - freeSlots.count }

    func slot(of member: Int) -> Int? { slots[member] < 0 ? nil : Int(slots[member]) }

    func revision(of member: Int) -> Int64 {
        guard let slot = slot(of: member) else { return revisions[member] }
        return active[slot].member.memory.place?.revision ?? 0
    }

    mutating func stamp(_ member: Int) -> UInt32 {
        stamps[member] &+= 1
        return stamps[member]
    }

    /// Creates the member's state machine if it has none.
    ///
    /// - Returns: the member's slot.
    mutating func wake(_ member: Int, _ record: FleetHeader) -> Int {
        if let slot = slot(of: member) { return slot }
        var memory = FleetPersistentState()
        memory.record = record
        memory.place = FleetRevision(cluster: 1, revision: revisions[member])
        let new = Active(member: FleetMember(memory, timing: timing))
        guard let free = freeSlots.popLast() else {
            active.append(new)
            slots[member] = Int32(active.count - 1)
            return active.count - 1
        }
        active[Int(free)] = new
        slots[member] = free
        return Int(free)
    }

    /// Removes the state machine of a member that is idle.
    mutating func rest(_ member: Int) {
        guard let slot = slot(of: member) else { return }
        let memory = active[slot].member.memory
        guard memory.answer == nil, active[slot].member.wakeTime == nil,
            active[slot].member == FleetMember(memory, timing: timing)
        else { return }
        revisions[member] = memory.place?.revision ?? 0
        slots[member] = -1
        freeSlots.append(Int32(slot))
    }

    /// Stops the member's host, which keeps the persistent state but no recording of a response.
    mutating func stop(_ member: Int) {
        guard let slot = slot(of: member) else { return }
        var memory = active[slot].member.memory
        memory.sending = nil
        active[slot] = Active(member: FleetMember(memory, timing: timing))
    }
}
