// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The controlling terminal, asked directly so that standard input and output stay free.
///
/// While a question is open, signals arrive through a pipe: the terminal is put back first, then the signal does
/// what it always does. After a stop (^Z) the question is asked again.
struct Terminal: ~Copyable {
    private let descriptor: Int32

    /// Opens the terminal, or answers nil if this process has none.
    init?() {
        descriptor = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Asks for one line.
    ///
    /// - Parameters:
    ///   - prompt: what to show, already safe for a terminal.
    ///   - echo: whether what is typed may be seen.
    /// - Returns: the line without its line feed; nil at ^D or when the terminal has gone.
    /// - Throws: ``AgentError`` with the code `internal` if signals cannot be caught.
    borrowing func ask(_ prompt: String, echo: Bool) throws(AgentError) -> [UInt8]? {
        var line: [UInt8] = []
        line.reserveCapacity(Secret.longest)
        while true {
            let answer = try askOnce(prompt, echo: echo, &line)
            switch answer {
            case .line: return line
            case .end: return nil
            case .signals(let signals):
                // The default action may end or stop us here.
                for signal in signals { _ = raise(signal) }
            }
        }
    }

    fileprivate enum Answer {
        case line
        case end
        case signals([Int32])
    }

    private borrowing func askOnce(
        _ prompt: String,
        echo: Bool,
        _ line: inout [UInt8]
    ) throws(AgentError) -> Answer {
        let signals = try TerminalSignals()
        var before = termios()
        guard unsafe tcgetattr(descriptor, &before) == 0 else { return .end }
        var during = before
        if !echo { during.c_lflag &= ~tcflag_t(ECHO) }
        during.c_lflag |= tcflag_t(ICANON | ISIG)
        // What is typed or pasted around an open answer is kept. Around a hidden one it is dropped: it may be
        // more of the secret, and the next reader of the terminal, mostly a shell, would show and keep it.
        let change = echo ? TCSADRAIN : TCSAFLUSH
        unsafe tcsetattr(descriptor, change, &during)
        defer { unsafe tcsetattr(descriptor, change, &before) }
        write(prompt)
        line.wipe()
        line.removeAll(keepingCapacity: true)
        let answer = readLine(into: &line, signals)
        // The person's line feed was not echoed.
        if !echo || answer.isInterrupted { write("\n") }
        return answer
    }

    private borrowing func readLine(into line: inout [UInt8], _ signals: borrowing TerminalSignals) -> Answer
    {
        while true {
            let arrived = signals.wait(for: descriptor)
            guard arrived.isEmpty else { return .signals(arrived) }
            let count = unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
                let count = unsafe read(descriptor, buffer.baseAddress, 4096)
                if count > 0 { unsafe line.append(contentsOf: buffer[..<count]) }
                if let start = buffer.baseAddress { unsafe explicit_bzero(start, 4096) }
                return count
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return line.isEmpty ? .end : .line }
            if line.last == 0x0A {
                line.removeLineEnd()
                return .line
            }
        }
    }

    private borrowing func write(_ text: String) {
        _ = unsafe Array(text.utf8).withUnsafeBytes { unsafe writeAll($0, to: descriptor) }
    }
}

extension Terminal.Answer {
    fileprivate var isInterrupted: Bool {
        switch self {
        case .signals: true
        case .line, .end: false
        }
    }
}
