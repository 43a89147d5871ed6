// SPDX-License-Identifier: MIT

import Text

/// Writes the heads on curl's output twice, where its options -i and -D - both want them there.
///
/// curl writes each line for one of them and then for the other. Run from here it sends the lines of -D elsewhere, so
/// that what they say is known, and those of -i to its output.
struct DoubledHeads {
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
        while !open.isEmpty {
            guard let head = DoubledHeads.first(in: heads) else {
                // Of a head that is not known to its end, some may be there already.
                guard heads.isEmpty else { return ready }
                break
            }
            guard let place = place(of: head) else {
                guard let rest = beginning(of: head) else {
                    guard hasBody else {
                        hasBody = true
                        continue
                    }
                    break
                }
                hasBody = hasBody || rest > 0
                ready += open[..<rest]
                open.removeFirst(rest)
                return ready
            }
            ready += open[..<place]
            ready += DoubledHeads.doubled(head)
            open.removeFirst(place + head.count)
            heads.removeFirst(head.count)
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

    /// The first head in `bytes`, with the empty line that ends it.
    private static func first(in bytes: [UInt8]) -> [UInt8]? {
        let end = bytes.indices.first { bytes[...$0].suffix(4).elementsEqual("\r\n\r\n".utf8) }
        return end.map { Array(bytes[...$0]) }
    }

    private static func doubled(_ head: [UInt8]) -> [UInt8] {
        head.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().flatMap {
            line in
            let line = line + [UInt8(ascii: "\n")]
            return line + line
        }
    }
}
