// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The controlling terminal, used directly so that standard input and output stay free.
///
/// During a prompt, signals arrive through a pipe: the terminal is restored first, then the signal takes its
/// usual effect. After a stop (^Z) the prompt is shown again.
struct Terminal: ~Copyable {
    private let descriptor: Int32

    /// Opens the terminal, or returns `nil` if this process has none.
    init?() {
        descriptor = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Prompts for one line.
    ///
    /// - Parameters:
    ///   - prompt: The text to show, already safe for a terminal.
    ///   - echo: Whether typed characters are shown.
    ///   - isWhole: Returns whether the lines so far are the complete input. By default one line is.
    /// - Returns: The line without its line feed, or `nil` at ^D or after a hangup.
    /// - Throws: ``AgentError`` with the code `internal` if signals cannot be caught.
    borrowing func ask(
        _ prompt: String,
        echo: Bool,
        until isWhole: ([UInt8]) -> Bool = { _ in true }
    ) throws(AgentError) -> [UInt8]? {
        var line: [UInt8] = []
        line.reserveCapacity(Secret.longest)
        while true {
            let answer = try askOnce(prompt, echo: echo, &line, isWhole)
            switch answer {
            case .line: return line
            case .end: return nil
            case .signals(let signals):
                // The default action may end or stop this process here.
                for signal in signals { _ = raise(signal) }
            }
        }
    }

    fileprivate enum PromptResult {
        case line
        case end
        case signals([Int32])
    }

    private borrowing func askOnce(
        _ prompt: String,
        echo: Bool,
        _ line: inout [UInt8],
        _ isWhole: ([UInt8]) -> Bool
    ) throws(AgentError) -> PromptResult {
        let signals = try CaughtSignals()
        var before = termios()
        guard unsafe tcgetattr(descriptor, &before) == 0 else { return .end }
        var during = before
        // Read byte by byte, because the driver would truncate a long line.
        during.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL)
        during.c_lflag |= tcflag_t(ISIG)
        unsafe withUnsafeMutableBytes(of: &during.c_cc) { keys in
            unsafe keys[Int(VMIN)] = 1
            unsafe keys[Int(VTIME)] = 0
        }
        // Input typed or pasted around a visible prompt is kept. Around a hidden prompt it is dropped: it may
        // be more of the secret, and the next reader of the terminal, usually a shell, would show and store
        // it.
        let change = echo ? TCSADRAIN : TCSAFLUSH
        unsafe tcsetattr(descriptor, change, &during)
        defer { unsafe tcsetattr(descriptor, change, &before) }
        write(prompt)
        line.wipe()
        line.removeAll(keepingCapacity: true)
        let editor = LineEditor(keys: LineEditor.Keys(before), echoes: echo)
        let answer = readLine(into: &line, editor, signals, isWhole)
        // The user's line feed was not echoed.
        if !echo || answer.isInterrupted { write("\n") }
        return answer
    }

    private borrowing func readLine(
        into line: inout [UInt8],
        _ editor: LineEditor,
        _ signals: borrowing CaughtSignals,
        _ isWhole: ([UInt8]) -> Bool
    ) -> PromptResult {
        while true {
            let arrived = signals.wait(for: descriptor)
            guard arrived.isEmpty else { return .signals(arrived) }
            // Read one byte at a time, because the bytes after the line are for the next prompt.
            var byte: UInt8 = 0
            let count = unsafe read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return line.isEmpty ? .end : .line }
            var shown: [UInt8] = []
            let step = editor.take(byte, into: &line, showing: &shown)
            if !shown.isEmpty { write(shown) }
            switch step {
            case .more: break
            case .end: return .end
            case .line:
                guard byte == 0x0A || byte == 0x0D, !isWhole(line) else { return .line }
                line.append(0x0A)
            }
        }
    }

    private borrowing func write(_ text: String) { write(Array(text.utf8)) }

    private borrowing func write(_ bytes: [UInt8]) {
        _ = unsafe bytes.withUnsafeBytes { unsafe writeAll($0, to: descriptor) }
    }
}

extension Terminal.PromptResult {
    fileprivate var isInterrupted: Bool {
        switch self {
        case .signals: true
        case .line, .end: false
        }
    }
}
