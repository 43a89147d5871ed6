// SPDX-License-Identifier: MIT

import AgentProtocol
import CHardening
import CommandCore
import Glibc

/// A cache of the tokens recently given to the calling program, in small files next to the agent's socket.
///
/// Many programs show that their token was rejected only by requesting it again. A file contains no token,
/// only a time and an eight-byte hash of the token. Later calls remove the files of programs that have ended,
/// and expired files.
struct RecentRequestCache {
    /// The minimum time between two refreshes of a session for repeated requests, in seconds: one minute.
    ///
    /// A server that rejects every token must not cause a refresh at each attempt.
    private static let minimumDelay: Int64 = 60
    /// The maximum number of files, so that a program with ever new requests cannot fill the directory.
    private static let maximumNotes = 512
    /// The time for which a repeated request is known to be harmless, in seconds: ten minutes.
    private static let habitLife: Int64 = 600
    /// The prefixes of files that belong to no single process, and the lifetime of each in seconds.
    private static let commonMarks: [(mark: String, life: Int64)] = [
        (refreshMark, minimumDelay), (broughtMark, habitLife), (habitMark, habitLife),
    ]
    /// The prefix of files about refreshes.
    private static let refreshMark = "refreshed-"
    /// The prefix of files about tokens that such a refresh returned.
    private static let broughtMark = "brought-"
    /// The prefix of files about requests that are repeated although the token was accepted.
    private static let habitMark = "twice-"

    private let directory: String
    /// The ID and start time of the calling process, which distinguish it from a later process with the same
    /// ID.
    private let asker: String

    /// Opens the cache, or returns `nil` if the program or directory is unknown or others can enter the
    /// directory.
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

    /// Returns whether the program received this token for `question` at most `seconds` ago.
    func wasGiven(_ token: AgentToken, for question: String, within seconds: Int64) -> Bool {
        timesGiven(token, for: question, within: seconds) > 0
    }

    /// Returns how many times in a row the program received this token for `question`, last at most `seconds`
    /// ago.
    func timesGiven(_ token: AgentToken, for question: String, within seconds: Int64) -> Int {
        guard let note = entry(path(question)), note.mark == RecentRequestCache.hash(token.value),
            (0...seconds).contains(RecentRequestCache.now - note.time)
        else { return 0 }
        return note.count
    }

    /// Records that the program receives `token`, after it has received it `times` in a row.
    func remember(_ token: AgentToken, for question: String, after times: Int = 0) {
        guard removeOldNotes() < RecentRequestCache.maximumNotes else { return }
        write(
            "\(RecentRequestCache.now) \(RecentRequestCache.hash(token.value)) \(times + 1)",
            to: path(question),
            O_TRUNC
        )
    }

    /// Claims a refresh of `session` for a repeated request, which then blocks others for a minute.
    ///
    /// A second repetition by a program may claim one more refresh.
    ///
    /// - Parameters:
    ///   - session: The name of the session.
    ///   - isAgain: Whether the program repeats its request for the second time.
    /// - Returns: Whether a refresh is allowed now.
    func mayRefresh(_ session: String, repeatedAgain isAgain: Bool = false) -> Bool {
        let path = common(RecentRequestCache.refreshMark, isAgain ? "\(session) again" : session)
        if write("\(RecentRequestCache.now) 0", to: path, O_EXCL) { return true }
        if let note = entry(path), RecentRequestCache.says(note.time, for: RecentRequestCache.minimumDelay) {
            return false
        }
        return write("\(RecentRequestCache.now) 0", to: path, O_TRUNC)
    }

    /// Records that a refresh for a repeated request returned `token`.
    func recordObtained(_ token: AgentToken, for question: String) {
        write(
            "\(RecentRequestCache.now) \(RecentRequestCache.hash(token.value))",
            to: common(RecentRequestCache.broughtMark, question),
            O_TRUNC
        )
    }

    /// Returns whether programs repeat `question` although their token is valid.
    ///
    /// They do if they repeat the request with `token`, which a refresh for such a repetition has just
    /// returned.
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

    /// Returns whether a file with `time` is younger than `seconds`.
    private static func says(_ time: Int64, for seconds: Int64) -> Bool { (0..<seconds).contains(now - time) }

    // MARK: The files

    private func path(_ question: String) -> String {
        "\(directory)/\(asker)-\(RecentRequestCache.hash(question))"
    }

    /// Returns the path of a file that belongs to no single process.
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

    /// Removes the files of ended programs and expired files.
    ///
    /// - Returns: The number of files of running programs.
    private func removeOldNotes() -> Int {
        guard let listing = unsafe opendir(directory) else { return RecentRequestCache.maximumNotes }
        defer { unsafe closedir(listing) }
        var count = 0
        while let found = unsafe readdir(listing) {
            let name = unsafe withUnsafeBytes(of: &found.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let path = "\(directory)/\(name)"
            if let life = RecentRequestCache.commonMarks.first(where: { name.hasPrefix($0.mark) })?.life {
                // A file without a time is being written.
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

    /// The ID and start time of the program that started this one, or `nil` if it has ended.
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

    /// Returns the FNV-1a hash of `text`, as a short name.
    ///
    /// Two requests with the same hash cause at most an unnecessary refresh.
    private static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(value, radix: 16)
    }

    /// The number of seconds since boot.
    private static var now: Int64 { hardening_boot_clock() / 1_000_000_000 }
}
