// SPDX-License-Identifier: MIT

import CTesting
import Glibc

/// The memory of another process, which only root may read.
package struct ProcessMemory {
    /// One mapping of `/proc/PID/maps`.
    private struct Region {
        var range: Range<UInt64>
        var name: String
    }

    /// The location of a secret, for the message of a failed test.
    package struct Hit: CustomStringConvertible {
        package var form: String
        package var place: String
        /// The index of the secret.
        package var index: Int

        package var description: String { "secret \(index), \(form), in \(place)" }
    }

    private let pid: pid_t

    package init(of pid: pid_t) {
        self.pid = pid
    }

    /// Returns the locations of secrets, raw or in any encoding in which they could have been written.
    ///
    /// The search covers all writable memory: heap, stacks and variables.
    package func hits(of secrets: [String]) throws -> [Hit] {
        try hits(ofBytes: secrets.map { Array($0.utf8) })
    }

    /// Returns the locations of secrets that are not text.
    package func hits(ofBytes secrets: [[UInt8]]) throws -> [Hit] {
        let needles = Needles(secrets)
        let memory = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw SystemFailure("open the memory of \(pid)") }
        defer { close(memory) }
        return try regions().flatMap { search($0, in: memory, for: needles) }
    }

    private func regions() throws -> [Region] {
        guard let maps = File.text("/proc/\(pid)/maps") else { throw SystemFailure("read maps of \(pid)") }
        return maps.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard ends.count == 2, fields[1].hasPrefix("rw") else { return nil }
            return Region(
                range: ends[0]..<ends[1],
                name: fields.count > 5 ? String(fields[5].drop { $0 == " " }) : "memory"
            )
        }
    }

    private func search(_ region: Region, in memory: Int32, for needles: Needles) -> [Hit] {
        let step = 4 << 20
        var chunk = [UInt8](repeating: 0, count: step + needles.longest)
        var hits: [Hit] = []
        var start = region.range.lowerBound
        while start < region.range.upperBound {
            let wanted = Int(min(UInt64(chunk.count), region.range.upperBound - start))
            let count = pread(memory, &chunk, wanted, off_t(start))
            if count > 0 {
                hits += needles.found(in: chunk, count).map { needle in
                    Hit(
                        form: needle.form,
                        place: "\(region.name) at \(String(start, radix: 16))",
                        index: needle.index
                    )
                }
            }
            start += UInt64(step)
        }
        return hits
    }
}

/// Secrets in all encodings in which they may have been written.
private struct Needles {
    struct Needle {
        var index: Int
        var form: String
        var bytes: [UInt8]
    }

    private let needles: [Needle]
    let longest: Int

    init(_ secrets: [[UInt8]]) {
        needles = secrets.enumerated().flatMap { index, secret in
            Encodings(secret).all.map { Needle(index: index, form: $0.form, bytes: $0.bytes) }
        }
        longest = needles.map(\.bytes.count).max() ?? 0
    }

    func found(in chunk: [UInt8], _ count: Int) -> [Needle] {
        var found = [UInt8](repeating: 0, count: needles.count)
        let joined = needles.flatMap(\.bytes)
        joined.withUnsafeBufferPointer { joined in
            guard let base = joined.baseAddress else { return }
            var offset = 0
            let starts = needles.map { needle -> UnsafePointer<UInt8>? in
                defer { offset += needle.bytes.count }
                return base + offset
            }
            search_memory(chunk, count, starts, needles.map(\.bytes.count), &found, needles.count)
        }
        return zip(needles, found).filter { $0.1 == 1 }.map(\.0)
    }
}

/// The encodings of a text: raw, its end, UTF-16, percent-encoded, and Base64 at every alignment.
private struct Encodings {
    let all: [(form: String, bytes: [UInt8])]

    init(_ bytes: [UInt8]) {
        var all: [(form: String, bytes: [UInt8])] = [
            ("raw", bytes), ("end", Array(bytes.suffix(24))), ("UTF-16", bytes.flatMap { [$0, 0] }),
            ("percent", bytes.flatMap(Encodings.percent)),
        ]
        for alignment in 0..<3 {
            let encoded = Encodings.base64(bytes, after: alignment)
            all.append(("base64", encoded))
            all.append(("base64url", encoded.map(Encodings.urlSafe)))
        }
        self.all = all.filter { $0.1.count >= 8 }
    }

    private static func percent(_ byte: UInt8) -> [UInt8] {
        guard !alphabet.dropLast(2).contains(byte) else { return [byte] }
        return Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8)
    }

    private static func urlSafe(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
    }

    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    /// Returns the part of the Base64 text that depends only on `bytes`, at an offset of `alignment` modulo
    /// three.
    private static func base64(_ bytes: [UInt8], after alignment: Int) -> [UInt8] {
        let whole = Array(bytes.dropFirst((3 - alignment) % 3))
        return stride(from: 0, to: whole.count / 3 * 3, by: 3).flatMap { index in
            let word = whole[index..<index + 3].reduce(0) { $0 << 8 | Int($1) }
            return [18, 12, 6, 0].map { alphabet[word >> $0 & 63] }
        }
    }
}
