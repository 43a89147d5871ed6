// SPDX-License-Identifier: MIT

import Text

/// The doubling of heads in curl's output for the options -i and -D - together.
///
/// Alone, curl would write each line once for each option. Here curl writes the lines of -D to another
/// descriptor, so that this process can parse them, and the lines of -i to its output.
struct ResponseHeadDuplicator {
    /// The maximum number of output bytes that wait for the end of a head, far more than curl allows: 1 MiB.
    private static let maximumHeadLength = 1 << 20

    /// Whether bytes other than heads have arrived; before that, nothing separates the heads.
    private var hasBody = false
    /// The heads that have not appeared in the output yet.
    private var heads: [UInt8] = []
    /// The last bytes of the output, which may be the beginning of a head.
    private var open: [UInt8] = []

    /// Records bytes for -D, before all bytes that curl wrote after them.
    mutating func expect(_ bytes: [UInt8]) {
        heads += bytes
    }

    /// Processes bytes of curl's output.
    ///
    /// - Parameter bytes: The output of curl.
    /// - Returns: The bytes that can be written now.
    mutating func taken(_ bytes: [UInt8]) -> [UInt8] {
        open += bytes
        var ready: [UInt8] = []
        while !open.isEmpty, !heads.isEmpty {
            let head = ResponseHeadDuplicator.end(in: heads[...]).map { Array(heads[..<$0]) }
            if let head, let place = place(of: head) {
                ready += open[..<place]
                ready += ResponseHeadDuplicator.doubled(head)
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

    /// Returns the bytes that are still held back, after curl has exited.
    mutating func rest() -> [UInt8] {
        heads = []
        defer { open = [] }
        return open
    }

    /// Returns the index of `head` in the output, or `nil`.
    private func place(of head: [UInt8]) -> Int? {
        if open.starts(with: head) { return 0 }
        return hasBody ? open.firstRange(of: head)?.lowerBound : nil
    }

    /// Returns the index from which the output may be the beginning of `head`, or `nil`.
    private func beginning(of head: [UInt8]) -> Int? {
        let earliest = max(0, open.count - head.count + 1)
        let starts = hasBody ? earliest..<open.count : 0..<1
        return starts.first { head.starts(with: open[$0...]) }
    }

    /// Returns the index from which the output may be `head`, whose end has not arrived, or its beginning, or
    /// `nil`.
    private func beginning(ofOpenHead head: [UInt8]) -> Int? {
        let starts = hasBody ? 0..<open.count : 0..<1
        return starts.first { start in
            let rest = open[start...]
            guard rest.count > head.count else { return head.starts(with: rest) }
            // Waiting for the rest of a head that never arrives must not hold back everything.
            return rest.count <= ResponseHeadDuplicator.maximumHeadLength && rest.starts(with: head)
        }
    }

    /// Returns the index after the first head in `bytes`, or `nil` if it is incomplete.
    ///
    /// A head ends with a line that is empty except for a CR.
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
