// SPDX-License-Identifier: MIT

/// A writer that fills memory of sufficient size with bytes and numbers, front to back.
@unsafe
struct RawBufferWriter {
    private let room: UnsafeMutableRawBufferPointer
    /// The number of bytes written so far.
    var count = 0

    init(_ room: UnsafeMutableRawBufferPointer) {
        unsafe self.room = unsafe room
    }

    /// The memory that is not written yet.
    var rest: UnsafeMutableRawBufferPointer { unsafe UnsafeMutableRawBufferPointer(rebasing: room[count...]) }

    mutating func add(_ bytes: [UInt8]) {
        unsafe rest.copyBytes(from: bytes)
        unsafe count += bytes.count
    }

    /// Appends the decimal digits of `number`, after a minus sign if it is negative.
    mutating func add(_ number: Int64) {
        let digits = number.digitCount
        var (place, left) = (unsafe count + digits, number.magnitude)
        repeat {
            place -= 1
            unsafe room[place] = UInt8(ascii: "0") + UInt8(left % 10)
            left /= 10
        } while left > 0
        if number < 0 { unsafe room[count] = UInt8(ascii: "-") }
        unsafe count += digits
    }
}

extension Int64 {
    /// The maximum number of bytes of a number in decimal.
    static let maximumDigits = 20

    /// The number of bytes of the number in decimal, with its sign.
    var digitCount: Int {
        var (count, left) = (self < 0 ? 2 : 1, magnitude / 10)
        while left > 0 {
            count += 1
            left /= 10
        }
        return count
    }
}
