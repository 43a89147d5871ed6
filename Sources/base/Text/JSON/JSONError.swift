// SPDX-License-Identifier: MIT

/// The reason bytes are not accepted as JSON, with the byte offset at which this was detected.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: String, Sendable {
        case unexpectedEnd = "unexpected end"
        case unexpectedByte = "unexpected byte"
        case invalidNumber = "invalid number"
        case invalidString = "invalid string"
        case invalidUTF8 = "invalid UTF-8"
        case duplicateMember = "duplicate member"
        case nameTooLong = "member name too long"
        case tooDeep = "nested too deeply"
        case tooManyValues = "too many values"
        case trailingBytes = "trailing bytes"
    }

    package let reason: Reason
    package let offset: Int

    package var description: String { "\(reason.rawValue) at byte \(offset)" }
}
