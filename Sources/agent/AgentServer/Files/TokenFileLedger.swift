// SPDX-License-Identifier: MIT

import Glibc
import SecretMemory
import Synchronization
import Text
import TokenCore

/// The mark of a token file that the agent wrote, by which another file at the same path is recognized.
struct TokenFileFingerprint: Hashable, Sendable {
    let inode: UInt64
    /// The length in bytes of the complete content.
    let length: Int
    let digest: TokenFingerprint

    init(inode: UInt64, length: Int, digest: TokenFingerprint) {
        self.inode = inode
        self.length = length
        self.digest = digest
    }

    /// Creates the mark of a file with this content.
    ///
    /// - Throws: ``TokenFileError`` if the digest cannot be computed.
    init(_ identity: TokenFileLocation.DeviceAndInode, holding bytes: [UInt8]) throws(TokenFileError) {
        guard let digest = TokenFileFingerprint.digest(of: bytes) else {
            throw .failed("cannot compute its digest")
        }
        self.init(inode: identity.inode, length: bytes.count, digest: digest)
    }

    /// Parses `INODE:LENGTH:DIGEST`.
    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, let inode = UInt64(String(decoding: parts[0], as: UTF8.self)),
            let length = Int(String(decoding: parts[1], as: UTF8.self)), length >= 0,
            let digest = Hex.decoded(parts[2]).flatMap(TokenFingerprint.init)
        else { return nil }
        self.init(inode: inode, length: length, digest: digest)
    }

    var text: String { "\(inode):\(length):\(Hex.encoded(digest.bytes))" }

    /// Returns whether this is the mark of a file with this inode and content.
    ///
    /// A draft matches also with a part of its content, as a killed agent may leave it.
    func fits(_ inode: UInt64, _ content: [UInt8], isDraft: Bool) -> Bool {
        guard inode == self.inode else { return false }
        return isDraft && content.count < length
            || content.count == length && TokenFileFingerprint.digest(of: content) == digest
    }

    private static func digest(of bytes: [UInt8]) -> TokenFingerprint? {
        unsafe bytes.withUnsafeBytes { unsafe SealedMemory.fingerprint(of: $0) }
    }
}

/// The list of existing token files, kept in the state directory.
///
/// With it, the next agent can remove the files of a killed one, even if the configuration has changed since.
///
/// Each line contains the marks of the files that may be at a path, separated by commas, then a space and the
/// path. No other file at the path is removed, whatever the list says: the list may be an old copy, or its
/// path may have a new file.
package final class TokenFileLedger: Sendable {
    /// The maximum size in bytes of a list: more than any list needs, as a thousand paths fit.
    private static let largest = 1 << 20
    /// The maximum number of marks for each path: those of the old file and of its replacement.
    private static let maximumMarks = 2

    /// The path of the list, or `nil` if none is kept.
    private let path: String?
    private let listed: Mutex<[ByteText: [TokenFileFingerprint]]>

    /// Reads the list in `stateDirectory`, which no one else can enter; `nil` keeps no list.
    package init(stateDirectory: String?) {
        let path = stateDirectory.map { $0 + "/token-files" }
        self.path = path
        listed = Mutex(path.map(TokenFileLedger.entries) ?? [:])
    }

    /// Removes every listed file that the agent wrote, for a store that no agent uses.
    ///
    /// - Returns: A line for the user about each file that remains.
    package func removeFiles() -> [String] {
        listed.withLock { listed in
            guard !listed.isEmpty else { return [] }
            var complaints: [String] = []
            for (file, marks) in listed {
                do throws(TokenFileError) {
                    try TokenFileLocation(file.text).remove(matching: marks)
                    listed[file] = nil
                } catch {
                    // Without its directory, the file does not exist either.
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

    /// Adds a file that will be written, next to the one that may be at its path until then.
    ///
    /// - Throws: ``TokenFileError`` if the list cannot be written; the file must not be written then.
    func add(_ file: String, _ mark: TokenFileFingerprint) throws(TokenFileError) {
        try listed.withLock { listed throws(TokenFileError) in
            let former = listed[file.bytewise]
            listed[file.bytewise] = Array(((former ?? []) + [mark]).suffix(Self.maximumMarks))
            do throws(TokenFileError) {
                try save(listed)
            } catch {
                listed[file.bytewise] = former
                throw error
            }
        }
    }

    /// Removes a file that no longer exists from the list.
    ///
    /// If the list cannot be written, it keeps one path too many, which is harmless.
    func remove(_ file: String) {
        listed.withLock { listed in
            guard listed.removeValue(forKey: file.bytewise) != nil else { return }
            try? save(listed)
        }
    }

    private func save(_ listed: [ByteText: [TokenFileFingerprint]]) throws(TokenFileError) {
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

    /// Reads the list at `path`; empty unless it is a private file of this user.
    private static func entries(in path: String) -> [ByteText: [TokenFileFingerprint]] {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return [:] }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0, status.st_size <= largest
        else { return [:] }
        var text = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe pread(file, &text, text.count, 0)
        var entries: [ByteText: [TokenFileFingerprint]] = [:]
        for line in text.prefix(max(0, count)).split(separator: UInt8(ascii: "\n")) {
            // A line without marks cannot show that the agent wrote the file.
            guard let blank = line.firstIndex(of: UInt8(ascii: " ")) else { continue }
            let path = String(decoding: line[line.index(after: blank)...], as: UTF8.self)
            let marks = line[..<blank].split(separator: UInt8(ascii: ",")).compactMap {
                TokenFileFingerprint($0)
            }
            guard path.hasPrefix("/"), !marks.isEmpty else { continue }
            entries[path.bytewise] = Array(marks.suffix(maximumMarks))
        }
        return entries
    }
}
