// SPDX-License-Identifier: MIT

extension [UInt8] {
    /// Returns the index of the first occurrence of `text` at or after `start`, or `nil`.
    ///
    /// The search is a plain loop, because the library's search takes minutes for some megabytes in a debug
    /// build.
    package func firstIndex(of text: String, from start: Int = 0) -> Int? {
        let wanted = Array(text.utf8)
        return withUnsafeBufferPointer { bytes in
            var index = start
            while index + wanted.count <= bytes.count {
                if bytes[index] == wanted[0], bytes[index..<index + wanted.count].elementsEqual(wanted) {
                    return index
                }
                index += 1
            }
            return nil
        }
    }
}

extension String {
    /// Returns the number of occurrences of `part`.
    package func occurrences(of part: String) -> Int {
        let bytes = Array(utf8)
        var (count, start) = (0, 0)
        while let found = bytes.firstIndex(of: part, from: start) {
            count += 1
            start = found + part.utf8.count
        }
        return count
    }
}
