// SPDX-License-Identifier: MIT

import CommandCore
import Glibc

/// An editor for a line typed at a terminal, with the keys of the terminal's driver.
///
/// The driver holds at most 4,095 bytes of a line and silently drops the rest (termios(3)). A pasted token or
/// URL may be longer.
struct LineEditor {
    enum Step: Equatable {
        case more
        case line
        /// The end of the input at the beginning of a line.
        case end
    }

    /// The editing keys; 0 disables a key.
    struct Keys {
        var erase: UInt8 = 0x7F
        var eraseWord: UInt8 = 0x17
        var eraseAll: UInt8 = 0x15
        var end: UInt8 = 0x04
    }

    var keys = Keys()
    /// Whether typed characters are shown.
    var echoes: Bool

    /// Processes one byte.
    ///
    /// - Parameters:
    ///   - byte: The typed byte.
    ///   - line: The line typed so far. It holds at most one byte more than ``Secret/longest``, so that its
    ///     length is then an error.
    ///   - shown: Receives the bytes that the terminal should show.
    /// - Returns: The next step for the line.
    func take(_ byte: UInt8, into line: inout [UInt8], showing shown: inout [UInt8]) -> Step {
        switch byte {
        case 0x0A, 0x0D:
            show([0x0A], in: &shown)
            return .line
        case keys.end where byte != 0:
            return line.isEmpty ? .end : .line
        case 0x08,
            keys.erase where byte != 0:
            eraseCharacter(of: &line, &shown)
        case keys.eraseWord where byte != 0:
            while line.last == 0x20 { eraseCharacter(of: &line, &shown) }
            while let last = line.last, last != 0x20 { eraseCharacter(of: &line, &shown) }
        case keys.eraseAll where byte != 0:
            while !line.isEmpty { eraseCharacter(of: &line, &shown) }
        default:
            guard line.count <= Secret.longest else { break }
            line.append(byte)
            show(LineEditor.isControl(byte) ? [UInt8(ascii: "^"), byte ^ 0x40] : [byte], in: &shown)
        }
        return .more
    }

    /// Removes all bytes of the last character and overwrites them in memory.
    private func eraseCharacter(of line: inout [UInt8], _ shown: inout [UInt8]) {
        guard let last = line.last else { return }
        var isContinued = true
        while isContinued, let byte = line.last {
            isContinued = byte & 0xC0 == 0x80
            line[line.count - 1] = 0
            line.removeLast()
        }
        let back: [UInt8] = [0x08, 0x20, 0x08]
        show(LineEditor.isControl(last) ? back + back : back, in: &shown)
    }

    private func show(_ bytes: [UInt8], in shown: inout [UInt8]) {
        if echoes { shown += bytes }
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
}

extension LineEditor.Keys {
    /// Reads the keys that the user has set for the terminal, for example with stty(1).
    init(_ settings: termios) {
        self = unsafe withUnsafeBytes(of: settings.c_cc) { keys in
            unsafe LineEditor.Keys(
                erase: keys[Int(VERASE)],
                eraseWord: keys[Int(VWERASE)],
                eraseAll: keys[Int(VKILL)],
                end: keys[Int(VEOF)]
            )
        }
    }
}
