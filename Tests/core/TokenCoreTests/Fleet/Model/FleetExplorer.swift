// SPDX-License-Identifier: MIT

@testable import TokenCore

/// A breadth-first search through every order of events that can follow from one world.
struct FleetExplorer {
    struct Finding: Hashable {
        var sentence: String
        /// The shortest sequence of moves to the violation.
        var trace: [FleetMove]
    }

    private(set) var states = 0
    /// Whether every reachable state was visited within the limit.
    private(set) var isComplete = true
    /// The first violation of each kind.
    private(set) var findings: [Finding] = []

    private var known: [FleetKey: Int32] = [:]
    private var parents: [Int32] = []
    private var moves: [FleetMove] = []
    /// The start states of edges that need neither a fault nor a user.
    ///
    /// ``targets`` has their end states.
    private var sources: [Int32] = []
    private var targets: [Int32] = []
    private var isEnd: [Bool] = []
    private var unrest: [String?] = []

    /// Explores at most `limit` states that follow from `world`, or until it finds a violation that begins with `harm`.
    init(_ world: FleetWorld, until harm: String? = nil, limit: Int = 3_000_000) {
        var queue: [(FleetWorld, Int32)] = []
        insert(world, by: .due, parent: -1, &queue)
        var next = 0
        while next < queue.count {
            let (world, index) = queue[next]
            // Visited worlds are removed in batches to free their memory.
            if next % 4_096 == 4_095 {
                queue.removeFirst(next)
                next = 0
            }
            next += 1
            let isFound = harm.map { harm in findings.contains { $0.sentence.hasPrefix(harm) } } ?? false
            guard known.count < limit, !isFound else {
                isComplete = false
                break
            }
            expand(world, index, &queue)
        }
        states = known.count
        if isComplete { findEndless() }
    }

    private mutating func expand(
        _ world: FleetWorld,
        _ index: Int32,
        _ queue: inout [(FleetWorld, Int32)]
    ) {
        for move in world.moves() {
            let after = world.after(move)
            if let violation = after.violation {
                note(violation, trace(to: index) + [move])
                isEnd[Int(index)] = true
                continue
            }
            let target = insert(after, by: move, parent: index, &queue)
            guard target != index, !move.isFault(in: world) else { continue }
            sources.append(index)
            targets.append(target)
        }
    }

    @discardableResult
    private mutating func insert(
        _ world: FleetWorld,
        by move: FleetMove,
        parent: Int32,
        _ queue: inout [(FleetWorld, Int32)]
    ) -> Int32 {
        let key = FleetKey(world)
        if let index = known[key] { return index }
        let index = Int32(parents.count)
        known[key] = index
        parents.append(parent)
        moves.append(move)
        let unrest = world.unrest
        self.unrest.append(unrest)
        isEnd.append(unrest == nil)
        queue.append((world, index))
        return index
    }

    private mutating func note(_ sentence: String, _ trace: [FleetMove]) {
        guard !findings.contains(where: { $0.sentence == sentence }) else { return }
        findings.append(Finding(sentence: sentence, trace: trace))
    }

    private func trace(to index: Int32) -> [FleetMove] {
        var trace: [FleetMove] = []
        var index = index
        while parents[Int(index)] >= 0 {
            trace.append(moves[Int(index)])
            index = parents[Int(index)]
        }
        return trace.reversed()
    }

    /// Finds states from which the fleet cannot come to rest without further faults.
    private mutating func findEndless() {
        var reaches = isEnd
        var into: [[Int32]] = Array(repeating: [], count: parents.count)
        for (source, target) in zip(sources, targets) { into[Int(target)].append(source) }
        var open = reaches.indices.filter { reaches[$0] }
        while let index = open.popLast() {
            for source in into[index] where !reaches[Int(source)] {
                reaches[Int(source)] = true
                open.append(Int(source))
            }
        }
        var leaves = Set(0..<parents.count)
        for source in sources { leaves.remove(Int(source)) }
        for index in reaches.indices where !reaches[index] && leaves.contains(index) {
            note(unrest[index] ?? "stuck", trace(to: Int32(index)))
        }
        if let first = reaches.firstIndex(of: false), findings.isEmpty {
            note("it goes round and never comes to rest: \(unrest[first] ?? "")", trace(to: Int32(first)))
        }
    }
}
