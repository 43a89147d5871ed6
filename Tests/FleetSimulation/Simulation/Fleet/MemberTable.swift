// SPDX-License-Identifier: MIT

import TokenCore

/// All members of the fleet: a ``FleetMember`` for each session on each host.
///
/// One that has nothing to do is kept as what its memory holds: which record, and which place in etcd's history.
/// The same ``FleetMember`` is made of that when something happens; a million of them fit into a few megabytes.
struct MemberTable {
    struct Active {
        var member: FleetMember
        /// When its clock is to be told, if that is on the agenda.
        var wakeAt: Int64?
        /// When its session began to want a refresh.
        var wantedAt: Int64?
        /// It has wanted to refresh since it last had nothing to do.
        var isBusy = false
        /// It waits for another host.
        var isHeld = false
    }

    private let timing: FleetTiming
    /// The index of the record that it knows in the session's history.
    var known: [Int32]
    private var revisions: [Int64]
    /// Changes whenever a member is due at another moment.
    private(set) var stamps: [UInt32]
    /// Refusals in a row that its session got.
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

    /// How many have something to do.
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

    /// Makes the member's machine, if it has none.
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

    /// Keeps no more than the memory of a member that has nothing to do.
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

    /// The member's host stops: its memory is left, and no recording of an answer.
    mutating func stop(_ member: Int) {
        guard let slot = slot(of: member) else { return }
        var memory = active[slot].member.memory
        memory.sending = nil
        active[slot] = Active(member: FleetMember(memory, timing: timing))
    }
}
