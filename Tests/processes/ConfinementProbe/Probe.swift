// SPDX-License-Identifier: MIT

import CHardening
import CTesting
import Confinement
import Glibc

/// Confines itself as the agent does, then tries what it is told to.
///
/// `confinement-probe confined|free READABLE WRITABLE ATTEMPT…`: lists of paths with `:` between them, among those that
/// are writable `+` before a directory for files alone; prints a line for each attempt, itself and the error number it
/// got, 0 for success.
@main
enum Probe {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count > 4, hardening_refuse_new_privileges() == 0 else { exit(2) }
        if arguments[1] == "confined" {
            let given = paths(arguments[3])
            let rules = FileRules(
                readable: paths(arguments[2]),
                writable: given.filter { !$0.hasPrefix("+") },
                fileDirectories: given.filter { $0.hasPrefix("+") }.map { String($0.dropFirst()) }
            )
            let start = ContinuousClock.now
            let report = Confinement.enter(rules)
            print("microseconds \((ContinuousClock.now - start) / .microseconds(1))")
            for gap in report.gaps { print("gap \(gap)") }
        }
        for attempt in arguments[4...] { print("\(attempt) \(outcome(of: attempt))") }
    }

    /// The number at `index` of a list with `,` between them.
    private static func number(_ list: String, _ index: Int) -> Int32 {
        let numbers = list.split(separator: ",").map { Int32($0) ?? -1 }
        return numbers.indices.contains(index) ? numbers[index] : 0
    }

    private static func paths(_ list: String) -> [String] { list.split(separator: ":").map(String.init) }

    private static func outcome(of attempt: String) -> Int32 {
        let words = attempt.split(separator: "=", maxSplits: 1).map(String.init)
        let subject = words.count > 1 ? words[1] : ""
        switch words[0] {
        case "call": return attempt_call(SystemCallFilter.number(of: subject) ?? -1)
        case "clone": return attempt_clone(UInt64(subject) ?? 0)
        case "attach": return attempt_attaching(pid_t(subject) ?? 0)
        case "peek": return attempt_reading(pid_t(subject) ?? 0)
        case "take": return attempt_taking_descriptor(pid_t(subject) ?? 0)
        case "type": return attempt_typing(0)
        case "expose": return attempt_exposing()
        case "tracer": return attempt_choosing_tracer(getppid())
        case "foreign": return attempt_foreign_call()
        case "socket": return attempt_socket(number(subject, 0), number(subject, 1), number(subject, 2))
        case "pair": return attempt_socket_pair(number(subject, 0))
        case "read": return opening(subject, O_RDONLY)
        case "list": return opening(subject, O_RDONLY | O_DIRECTORY)
        case "write": return opening(subject, O_WRONLY | O_CREAT | O_TRUNC)
        case "remove": return unlink(subject) == 0 ? 0 : errno
        case "rename": return rename(subject, subject + ".renamed") == 0 ? 0 : errno
        case "makeDirectory": return mkdir(subject, 0o700) == 0 ? 0 : errno
        case "mode": return chmod(subject, 0o600) == 0 ? 0 : errno
        case "owner": return chown(subject, getuid(), gid_t.max) == 0 ? 0 : errno
        case "group": return lchown(subject, uid_t.max, getgid()) == 0 ? 0 : errno
        case "times": return utimes(subject, nil) == 0 ? 0 : errno
        case "attribute": return setxattr(subject, "user.x", "y", 1, 0) == 0 ? 0 : errno
        case "link": return symlink("/", subject) == 0 ? 0 : errno
        case "signal": return kill(getppid(), 0) == 0 ? 0 : errno
        case "thread": return thread()
        case "listen": return listening()
        case "resolve": return resolving(subject)
        case "releaseCode": return releasingCode()
        default: return -1
        }
    }

    /// The percentage of the pages of files that are still in memory.
    private static func releasingCode() -> Int32 {
        let before = filePages()
        guard hardening_release_code() > 0, before > 0 else { return -1 }
        return filePages() * 100 / before
    }

    /// The third number of statm (proc(5)); -1 if it cannot be read.
    private static func filePages() -> Int32 {
        guard let file = fopen("/proc/self/statm", "re") else { return -1 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return -1 }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return Int32(text.split(separator: " ")[2]) ?? -1
    }

    private static func opening(_ path: String, _ flags: Int32) -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        close(descriptor)
        return 0
    }

    private static func thread() -> Int32 {
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, { _ in nil }, nil)
        return code == 0 ? pthread_join(thread, nil) : code
    }

    /// Loopback TCP, as a browser login needs it.
    private static func listening() -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return bound == 0 && listen(descriptor, 1) == 0 ? 0 : errno
    }

    /// Through the C library's modules.
    private static func resolving(_ name: String) -> Int32 {
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, "443", nil, &found)
        if let found { freeaddrinfo(found) }
        return code
    }
}
