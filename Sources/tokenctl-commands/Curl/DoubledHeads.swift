// SPDX-License-Identifier: MIT

import Text

/// Writes the heads on curl's output twice, where its options -i and -D - both want them there.
///
/// curl writes each line for one of them and then for the other. Run from here it sends the lines of -D elsewhere, so
/// that what they say is known, and those of -i to its output.
struct DoubledHeads {
    /// Most bytes of the output that wait for the end of a head, far more than curl takes for one: 1 MiB.
    private static let longestHead = 1 << 20

    /// Whether something else than heads has come; before that nothing stands between them.
    private var hasBody = false
    /// Heads that have not come by on the output yet.
    private var heads: [UInt8] = []
    /// The end of the output, which may be the beginning of a head.
    private var open: [UInt8] = []

    /// Takes what curl wrote for -D, before anything that curl wrote after it.
    mutating func expect(_ bytes: [UInt8]) {
        heads += bytes
    }

    /// Takes what curl wrote to its output, and answers what can be written now.
    mutating func taken(_ bytes: [UInt8]) -> [UInt8] {
        open += bytes
        var ready: [UInt8] = []
        while !open.isEmpty, !heads.isEmpty {
            let head = DoubledHeads.end(in: heads[...]).map { Array(heads[..<$0]) }
            if let head, let place = place(of: head) {
                ready += open[..<place]
                ready += DoubledHeads.doubled(head)
                open.removeFirst(place + head.count)
                heads.removeFirst(head.count)
            } else if let start = head.map({ beginning(of: $0) }) ?? beginning(ofOpenHead: heads) {
                hasBody = hasBody || start > 0
                ready += open[..<start]
                open.removeFirst(start)
                return ready
            } else if hasBody {
                break
            } else {
                hasBody = true
            }
        }
        hasBody = hasBody || !open.isEmpty
        ready += open
        open = []
        return ready
    }

    /// What is still kept back; curl has ended.
    mutating func rest() -> [UInt8] {
        heads = []
        defer { open = [] }
        return open
    }

    /// Where `head` begins in the output.
    private func place(of head: [UInt8]) -> Int? {
        if open.starts(with: head) { return 0 }
        return hasBody ? open.firstRange(of: head)?.lowerBound : nil
    }

    /// Where the output may be the beginning of `head`, up to its end; `nil`: nowhere.
    private func beginning(of head: [UInt8]) -> Int? {
        let earliest = max(0, open.count - head.count + 1)
        let starts = hasBody ? earliest..<open.count : 0..<1
        return starts.first { head.starts(with: open[$0...]) }
    }

    /// Where the output may be `head`, which is not known to its end, or the beginning of it; `nil`: nowhere.
    private func beginning(ofOpenHead head: [UInt8]) -> Int? {
        let starts = hasBody ? 0..<open.count : 0..<1
        return starts.first { start in
            let rest = open[start...]
            guard rest.count > head.count else { return head.starts(with: rest) }
            // The rest of a head that never comes must not hold back everything.
            return rest.count <= DoubledHeads.longestHead && rest.starts(with: head)
        }
    }

    /// Where the first head in `bytes` is over, which ends with a line that is empty but for a CR; `nil`: it goes on.
    static func end(in bytes: ArraySlice<UInt8>) -> Int? {
        var isLineEmpty = false
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "\r"): continue
            case UInt8(ascii: "\n"):
                if isLineEmpty { return index + 1 }
                isLineEmpty = true
            default: isLineEmpty = false
            }
        }
        return nil
    }

    private static func doubled(_ head: [UInt8]) -> [UInt8] {
        head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().flatMap {
            line in
            let line = line + [UInt8(ascii: "\n")]
            return line + line
        }
    }
}
