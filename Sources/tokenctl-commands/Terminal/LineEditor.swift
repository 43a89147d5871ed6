// SPDX-License-Identifier: MIT

import CommandCore
import Glibc

/// Edits the line that is typed at a terminal, as the terminal's driver does.
///
/// The driver holds no more than 4,095 bytes of a line and drops the rest silently (termios(3)), less than a pasted
/// token or address may have.
struct LineEditor {
    enum Step: Equatable {
        case more
        case line
        /// The end of the input, at the beginning of the line.
        case end
    }

    /// The keys with a meaning of their own; 0 is none.
    struct Keys {
        var erase: UInt8 = 0x7F
        var eraseWord: UInt8 = 0x17
        var eraseAll: UInt8 = 0x15
        var end: UInt8 = 0x04
    }

    var keys = Keys()
    /// Whether what is typed may be seen.
    var echoes: Bool

    /// Takes one byte.
    ///
    /// - Parameters:
    ///   - byte: the byte that was typed.
    ///   - line: what was typed so far; a byte more than ``Secret/longest`` at most, so that its length is an error.
    ///   - shown: receives what the terminal should show.
    /// - Returns: the step that follows for the line.
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

    /// Removes the last character, all of its bytes, and leaves none of them in memory.
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
    /// The keys that a person has set for the terminal, with stty(1) for example.
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
