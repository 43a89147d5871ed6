// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// What the program that started this one was given lately, kept in small files beside the agent's socket.
///
/// A program that gets its token refused often says so only by asking again. The files hold no token: a time, and
/// eight bytes computed from the token, which tell it from the next. Later calls remove the files of programs
/// that have ended, and those that say nothing any more.
struct RecentRequestCache {
    /// Shortest time between two refreshes of a session for repeated questions: a minute.
    ///
    /// A server that refuses every token must not cost a refresh at each try.
    private static let shortestPause: Int64 = 60
    /// Most files kept, so that a program with ever new questions cannot fill the directory.
    private static let mostNotes = 512
    /// How long a program counts as one that asks twice when all is well: ten minutes.
    private static let habitLife: Int64 = 600
    /// What the names of notes begin with that are about no single process, and how long each says something.
    private static let commonMarks: [(mark: String, life: Int64)] = [
        (refreshMark, shortestPause), (broughtMark, habitLife), (habitMark, habitLife),
    ]
    /// About refreshes.
    private static let refreshMark = "refreshed-"
    /// About tokens that such a refresh brought.
    private static let broughtMark = "brought-"
    /// About questions that are asked twice when all is well.
    private static let habitMark = "twice-"

    private let directory: String
    /// Process number and start of the program, which tell it from a later one of the same number.
    private let asker: String

    /// Nil if program or directory are unknown or others can enter the directory: nothing is remembered then.
    init?(of endpoint: AgentEndpoint) {
        guard let asker = RecentRequestCache.parent, let socket = try? endpoint.socketPath,
            let slash = socket.lastIndex(of: "/"), slash != socket.startIndex
        else { return nil }
        directory = socket[..<slash] + "/asked"
        self.asker = asker
        do {
            try PrivateDirectory.check(String(socket[..<slash]))
            try PrivateDirectory.prepare(directory)
        } catch {
            return nil
        }
    }

    /// Whether the program was given this very token for `question` not longer than `seconds` ago.
    func wasGiven(_ token: AgentToken, for question: String, within seconds: Int64) -> Bool {
        timesGiven(token, for: question, within: seconds) > 0
    }

    /// How often in a row the program was given this very token for `question`, the last time not longer than `seconds` ago.
    func timesGiven(_ token: AgentToken, for question: String, within seconds: Int64) -> Int {
        guard let note = entry(path(question)), note.mark == RecentRequestCache.hash(token.value),
            (0...seconds).contains(RecentRequestCache.now - note.time)
        else { return 0 }
        return note.count
    }

    /// Remembers what the program is given, the next time in a row.
    func remember(_ token: AgentToken, for question: String, after times: Int = 0) {
        guard removeOldNotes() < RecentRequestCache.mostNotes else { return }
        write(
            "\(RecentRequestCache.now) \(RecentRequestCache.hash(token.value)) \(times + 1)",
            to: path(question),
            O_TRUNC
        )
    }

    /// Whether a repeated question may cost a refresh of `session` now; if so, no other one may for a while.
    ///
    /// One more is allowed where a program repeats its question a second time.
    func mayRefresh(_ session: String, repeatedAgain isAgain: Bool = false) -> Bool {
        let path = common(RecentRequestCache.refreshMark, isAgain ? "\(session) again" : session)
        if write("\(RecentRequestCache.now) 0", to: path, O_EXCL) { return true }
        if let note = entry(path), RecentRequestCache.says(note.time, for: RecentRequestCache.shortestPause) {
            return false
        }
        return write("\(RecentRequestCache.now) 0", to: path, O_TRUNC)
    }

    /// Remembers that a refresh for a repeated question has brought `token`.
    func noteBrought(_ token: AgentToken, for question: String) {
        write(
            "\(RecentRequestCache.now) \(RecentRequestCache.hash(token.value))",
            to: common(RecentRequestCache.broughtMark, question),
            O_TRUNC
        )
    }

    /// Whether programs repeat `question` when all is well: they have done so for `token`, which a refresh for such a
    /// repetition had just brought.
    func isRepeatedAnyway(_ question: String, for token: AgentToken) -> Bool {
        let habit = common(RecentRequestCache.habitMark, question)
        if let note = entry(habit), RecentRequestCache.says(note.time, for: RecentRequestCache.habitLife) {
            return true
        }
        guard let note = entry(common(RecentRequestCache.broughtMark, question)),
            note.mark == RecentRequestCache.hash(token.value),
            RecentRequestCache.says(note.time, for: RecentRequestCache.habitLife)
        else { return false }
        write("\(RecentRequestCache.now) 0", to: habit, O_TRUNC)
        return true
    }

    /// Whether a note of `time` says something that holds for `seconds`.
    private static func says(_ time: Int64, for seconds: Int64) -> Bool { (0..<seconds).contains(now - time) }

    // MARK: The files

    private func path(_ question: String) -> String {
        "\(directory)/\(asker)-\(RecentRequestCache.hash(question))"
    }

    /// The path of a note that is about no single process.
    private func common(_ mark: String, _ subject: String) -> String {
        "\(directory)/\(mark)\(RecentRequestCache.hash(subject))"
    }

    private func entry(_ path: String) -> (time: Int64, mark: String, count: Int)? {
        guard let text = RecentRequestCache.contents(of: path) else { return nil }
        let words = text.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard (2...3).contains(words.count), let time = Int64(words[0]) else { return nil }
        return (time, words[1], words.count == 3 ? Int(words[2]) ?? 1 : 1)
    }

    @discardableResult
    private func write(_ text: String, to path: String, _ flags: Int32) -> Bool {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        let bytes = Array(text.utf8)
        return unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: file) } == 0
    }

    /// Removes the notes of programs that have ended and of refreshes that forbid none, and answers how many of the
    /// first are left.
    private func removeOldNotes() -> Int {
        guard let listing = unsafe opendir(directory) else { return RecentRequestCache.mostNotes }
        defer { unsafe closedir(listing) }
        var count = 0
        while let found = unsafe readdir(listing) {
            let name = unsafe withUnsafeBytes(of: &found.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let path = "\(directory)/\(name)"
            if let life = RecentRequestCache.commonMarks.first(where: { name.hasPrefix($0.mark) })?.life {
                // One without a time is being written.
                if let note = entry(path), !RecentRequestCache.says(note.time, for: life) {
                    unsafe unlink(path)
                }
                continue
            }
            guard let number = name.split(separator: "-").first.flatMap({ pid_t($0) }), number > 0 else {
                continue
            }
            if kill(number, 0) != 0, errno == ESRCH {
                unsafe unlink(path)
            } else {
                count += 1
            }
        }
        return count
    }

    /// The program that started this one, if it still runs.
    private static var parent: String? {
        let number = getppid()
        guard number > 1, let bytes = contents(of: "/proc/\(number)/stat"),
            let name = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        // The start is the 22nd field; the second field ends with the parenthesis (proc_pid_stat(5)).
        let fields = bytes[(name + 1)...].split(separator: UInt8(ascii: " "))
        guard fields.count > 19 else { return nil }
        return "\(number)-" + String(decoding: fields[19], as: UTF8.self)
    }

    private static func contents(of path: String) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = unsafe read(file, &bytes, bytes.count)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// FNV-1a: a short name for what may be long.
    ///
    /// If two questions share a hash, the worst is a refresh for nothing.
    private static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(value, radix: 16)
    }

    /// Seconds since boot.
    private static var now: Int64 { hardening_boot_clock() / 1_000_000_000 }
}
