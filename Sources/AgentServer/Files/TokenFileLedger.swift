// SPDX-License-Identifier: MIT

import Glibc
import SealedStore
import Synchronization
import Text
import TokenCore

/// What the agent has written into one token file, so that another file at the same path is told from it.
struct TokenFileMark: Hashable, Sendable {
    let inode: UInt64
    /// Bytes of the whole content.
    let length: Int
    let digest: TokenFingerprint

    init(inode: UInt64, length: Int, digest: TokenFingerprint) {
        self.inode = inode
        self.length = length
        self.digest = digest
    }

    /// The mark of a file with this content.
    ///
    /// - Throws: ``TokenFileError`` if there is no digest.
    init(_ identity: TokenFileLocation.Identity, holding bytes: [UInt8]) throws(TokenFileError) {
        guard let digest = TokenFileMark.digest(of: bytes) else { throw .failed("its content has no digest") }
        self.init(inode: identity.inode, length: bytes.count, digest: digest)
    }

    /// Reads `INODE:LENGTH:DIGEST`.
    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, let inode = UInt64(String(decoding: parts[0], as: UTF8.self)),
            let length = Int(String(decoding: parts[1], as: UTF8.self)), length >= 0,
            let digest = Hex.decoded(parts[2]).flatMap(TokenFingerprint.init)
        else { return nil }
        self.init(inode: inode, length: length, digest: digest)
    }

    var text: String { "\(inode):\(length):\(Hex.encoded(digest.bytes))" }

    /// Whether it is of a file with this inode and content, or with the beginning of it that a killed agent wrote.
    func fits(_ inode: UInt64, _ content: [UInt8], isDraft: Bool) -> Bool {
        guard inode == self.inode else { return false }
        return isDraft && content.count < length
            || content.count == length && TokenFileMark.digest(of: content) == digest
    }

    private static func digest(of bytes: [UInt8]) -> TokenFingerprint? {
        unsafe bytes.withUnsafeBytes { unsafe SealedMemory.fingerprint(of: $0) }
    }
}

/// The list of the token files that are there, kept in the state directory: what a killed agent left can be removed by
/// the next one, even if the configuration has changed meanwhile.
///
/// Each line is the marks of the files that may be at a path, separated by commas, a blank and the path. Nothing else at
/// the path is removed, whatever the list says: it may be an old copy, or name another file by now.
package final class TokenFileLedger: Sendable {
    /// More than any list has: a thousand paths.
    private static let largest = 1 << 20
    /// The file that is replaced, and the one that replaces it.
    private static let mostMarks = 2

    /// `nil`: no list is kept.
    private let path: String?
    private let listed: Mutex<[ByteText: [TokenFileMark]]>

    /// The list in `stateDirectory`, which nobody else can enter; `nil`: none.
    package init(stateDirectory: String?) {
        let path = stateDirectory.map { $0 + "/token-files" }
        self.path = path
        listed = Mutex(path.map(TokenFileLedger.entries) ?? [:])
    }

    /// Removes every file of the list that the agent wrote, for a store that no agent uses.
    ///
    /// - Returns: a line for a person about each that is still there.
    package func removeFiles() -> [String] {
        listed.withLock { listed in
            guard !listed.isEmpty else { return [] }
            var complaints: [String] = []
            for (file, marks) in listed {
                do throws(TokenFileError) {
                    try TokenFileLocation(file.text).remove(matching: marks)
                    listed[file] = nil
                } catch {
                    // Without its directory the file is gone too.
                    if case .noDirectory = error {
                        listed[file] = nil
                    } else {
                        complaints.append("\(file): \(error.reason)")
                    }
                }
            }
            do throws(TokenFileError) {
                try save(listed)
            } catch {
                complaints.append(error.reason)
            }
            return complaints.sorted()
        }
    }

    /// Lists a file that is going to be written, with those that may be at its path until then.
    ///
    /// - Throws: ``TokenFileError``; the file must not be written then.
    func add(_ file: String, _ mark: TokenFileMark) throws(TokenFileError) {
        try listed.withLock { listed throws(TokenFileError) in
            let former = listed[file.bytewise]
            listed[file.bytewise] = Array(((former ?? []) + [mark]).suffix(Self.mostMarks))
            do throws(TokenFileError) {
                try save(listed)
            } catch {
                listed[file.bytewise] = former
                throw error
            }
        }
    }

    /// Takes a file that is gone off the list; a list that cannot be written names one too many.
    func remove(_ file: String) {
        listed.withLock { listed in
            guard listed.removeValue(forKey: file.bytewise) != nil else { return }
            try? save(listed)
        }
    }

    private func save(_ listed: [ByteText: [TokenFileMark]]) throws(TokenFileError) {
        guard let path else { return }
        guard !listed.isEmpty else {
            guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .latest("remove \(path)") }
            return
        }
        let lines = listed.map { entry in
            (path: entry.key.text, marks: entry.value.map(\.text).joined(separator: ","))
        }
        let text = lines.sorted { $0.path < $1.path }.map { "\($0.marks) \($0.path)\n" }.joined()
        let place = try TokenFileLocation(path)
        _ = try place.replace(with: Array(text.utf8), isDurable: true)
    }

    /// What the list at `path` says; nothing if it is not a file of ours.
    private static func entries(in path: String) -> [ByteText: [TokenFileMark]] {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return [:] }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0, status.st_size <= largest
        else { return [:] }
        var text = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe pread(file, &text, text.count, 0)
        var entries: [ByteText: [TokenFileMark]] = [:]
        for line in text.prefix(max(0, count)).split(separator: UInt8(ascii: "\n")) {
            // A line without marks says nothing about who wrote the file.
            guard let blank = line.firstIndex(of: UInt8(ascii: " ")) else { continue }
            let path = String(decoding: line[line.index(after: blank)...], as: UTF8.self)
            let marks = line[..<blank].split(separator: UInt8(ascii: ",")).compactMap { TokenFileMark($0) }
            guard path.hasPrefix("/"), !marks.isEmpty else { continue }
            entries[path.bytewise] = Array(marks.suffix(mostMarks))
        }
        return entries
    }
}
