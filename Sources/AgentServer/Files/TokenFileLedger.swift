// SPDX-License-Identifier: MIT

import Glibc
import Synchronization
import Text

/// The list of the token files that are there, kept in the state directory: what a killed agent left can be removed by
/// the next one, even if the configuration has changed meanwhile.
package final class TokenFileLedger: Sendable {
    /// More than any list has: a thousand paths.
    private static let largest = 1 << 20

    /// `nil`: no list is kept.
    private let path: String?
    private let listed: Mutex<Set<ByteText>>

    /// The list in `stateDirectory`, which nobody else can enter; `nil`: none.
    package init(stateDirectory: String?) {
        let path = stateDirectory.map { $0 + "/token-files" }
        self.path = path
        listed = Mutex(path.map(TokenFileLedger.paths) ?? [])
    }

    /// Removes every file of the list, for a store that no agent uses.
    ///
    /// - Returns: a line for a person about each that is still there.
    package func removeFiles() -> [String] {
        listed.withLock { listed in
            guard !listed.isEmpty else { return [] }
            var complaints: [String] = []
            for file in listed {
                do throws(TokenFileFault) {
                    try TokenFilePlace(file.text).remove(nil)
                    listed.remove(file)
                } catch {
                    // Without its directory the file is gone too.
                    if case .noDirectory = error {
                        listed.remove(file)
                    } else {
                        complaints.append("\(file): \(error.reason)")
                    }
                }
            }
            do throws(TokenFileFault) {
                try save(listed)
            } catch {
                complaints.append(error.reason)
            }
            return complaints.sorted()
        }
    }

    /// Lists a file that is going to be written.
    ///
    /// - Throws: ``TokenFileFault``; the file must not be written then.
    func add(_ file: String) throws(TokenFileFault) {
        try listed.withLock { listed throws(TokenFileFault) in
            guard listed.insert(file.bytewise).inserted else { return }
            do throws(TokenFileFault) {
                try save(listed)
            } catch {
                listed.remove(file.bytewise)
                throw error
            }
        }
    }

    /// Takes a file that is gone off the list; a list that cannot be written names one too many.
    func remove(_ file: String) {
        listed.withLock { listed in
            guard listed.remove(file.bytewise) != nil else { return }
            try? save(listed)
        }
    }

    private func save(_ listed: Set<ByteText>) throws(TokenFileFault) {
        guard let path else { return }
        guard !listed.isEmpty else {
            guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .latest("remove \(path)") }
            return
        }
        let lines = listed.map { $0.text + "\n" }.sorted().joined()
        let place = try TokenFilePlace(path)
        _ = try place.replace(with: Array(lines.utf8), isDurable: true)
    }

    /// What the list at `path` names; nothing if it is not a file of ours.
    private static func paths(in path: String) -> Set<ByteText> {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid(), status.st_mode & 0o077 == 0, status.st_size <= largest
        else { return [] }
        var text = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe pread(file, &text, text.count, 0)
        let lines = text.prefix(max(0, count)).split(separator: UInt8(ascii: "\n"))
        let paths = lines.map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasPrefix("/") }
        return Set(paths.map(\.bytewise))
    }
}
