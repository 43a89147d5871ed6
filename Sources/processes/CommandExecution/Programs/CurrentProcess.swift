// SPDX-License-Identifier: MIT

import Glibc

/// The environment and working directory of this process.
package enum CurrentProcess {
    package static var current: [String: String] {
        var variables: [String: String] = [:]
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            let pair = unsafe String(cString: text)
            if let mark = pair.firstIndex(of: "=") {
                variables[String(pair[..<mark])] = String(pair[pair.index(after: mark)...])
            }
            unsafe entry += 1
        }
        return variables
    }

    /// Removes every variable that is not in `kept`.
    package static func keep(only kept: [String: String]) {
        for name in current.keys where kept[name] == nil { unsafe unsetenv(name) }
    }

    /// Removes the variable `name` and wipes its value in place.
    ///
    /// - Returns: The value, or `nil` if the variable was not set. The caller wipes it if it is a secret.
    package static func take(_ name: String) -> [UInt8]? {
        guard let value = unsafe getenv(name) else { return nil }
        let count = unsafe strlen(value)
        let place = unsafe UnsafeMutableRawBufferPointer(start: value, count: count)
        let bytes = unsafe Array(place)
        unsafe explicit_bzero(value, count)
        unsafe unsetenv(name)
        return bytes
    }

    package static func set(_ name: String, _ value: String) {
        unsafe setenv(name, value, 1)
    }

    /// The path of this executable, for starting it again under its own name.
    ///
    /// If the file was replaced or removed since the start, this is `/proc/self/exe`, which still works.
    package static var executable: String {
        guard let path = unsafe realpath("/proc/self/exe", nil) else { return "/proc/self/exe" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    package static var workingDirectory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
