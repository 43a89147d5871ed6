// SPDX-License-Identifier: MIT

import Glibc
import ServerSettings

/// A lookup of users and groups, each given by name or as a number.
enum AccountDatabase {
    /// The buffer size in bytes for one entry with its members.
    private static let entrySize = 1 << 16

    static func user(_ text: String) -> UInt32? {
        if let number = number(text) { return number }
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var room = [CChar](repeating: 0, count: entrySize)
        guard unsafe getpwnam_r(text, &entry, &room, room.count, &found) == 0, unsafe found != nil else {
            return nil
        }
        return unsafe entry.pw_uid
    }

    static func group(_ text: String) -> UInt32? {
        if let number = number(text) { return number }
        var entry = unsafe Glibc.group()
        var found: UnsafeMutablePointer<Glibc.group>?
        var room = [CChar](repeating: 0, count: entrySize)
        guard unsafe getgrnam_r(text, &entry, &room, room.count, &found) == 0, unsafe found != nil else {
            return nil
        }
        return unsafe entry.gr_gid
    }

    /// Reads `users`, other users of this machine by name or number.
    static func users(_ table: inout TableReader) -> [UInt32] {
        (table.strings("users") ?? []).compactMap { text in
            if let number = user(text) { return number }
            table.report("users", "no user named \"\(text)\"")
            return nil
        }
    }

    /// Parses a decimal number, or returns `nil` for other text and for the largest number, which the kernel
    /// reads as "none".
    private static func number(_ text: String) -> UInt32? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt32(text), number != .max
        else {
            return nil
        }
        return number
    }
}
