// SPDX-License-Identifier: MIT

import Glibc

/// The files that curl's arguments make it read, as far as they affect whether another run reads the same.
struct CurlInputFiles: Equatable {
    /// The names of standard input; other paths to the same file may open another descriptor.
    private static let standardInput: Set = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]

    /// Whether curl reads standard input, which ``RequestSpool`` lets it read again.
    private(set) var includeStandardInput = false
    /// Whether the files include a pipe or another file that can be read only once.
    private(set) var includePipes = false
    /// Whether curl uses the output file of an earlier run.
    private(set) var includeEarlierOutput = false

    /// Records an option without a value, given by its letter or its long name.
    mutating func read(flag: String) {
        switch flag {
        case "J", "remote-header-name", "no-clobber", "skip-existing": includeEarlierOutput = true
        default: break
        }
    }

    /// Records the value of an option.
    mutating func read(_ value: String, of name: String) {
        let bytes = value.utf8
        let isMarked = bytes.first == UInt8(ascii: "@")
        switch name {
        case "d", "data", "data-ascii", "data-binary", "json", "H", "header", "proxy-header", "w",
            "write-out":
            if isMarked { note(file: value.afterFirstByte) }
        case "data-urlencode", "url-query":
            guard !bytes.contains(UInt8(ascii: "=")) else { return }
            let rest = bytes.drop { $0 != UInt8(ascii: "@") }
            if !rest.isEmpty { note(file: String(Substring(rest.dropFirst()))) }
        case "F", "form": for file in CurlInputFiles.files(ofPart: value) { note(file: file) }
        case "T", "upload-file": note(file: value == "." ? "-" : value)
        case "b", "cookie":
            if isMarked {
                note(file: value.afterFirstByte)
            } else if !bytes.contains(UInt8(ascii: "=")) {
                note(file: value)
            }
        case "cacert", "crlfile", "key", "netrc-file", "E", "cert":
            if value != "-" { note(file: value) }
        case "C", "continue-at": includeEarlierOutput = includeEarlierOutput || value != "0"
        case "z", "time-cond", "etag-save", "etag-compare": includeEarlierOutput = true
        default: break
        }
    }

    private mutating func note(file: String) {
        if CurlInputFiles.standardInput.contains(file) {
            includeStandardInput = true
        } else {
            includePipes = includePipes || CurlInputFiles.isPipe(file)
        }
    }

    /// Returns whether the file exists and is not a regular file, such as a named pipe or the file for `<(…)`
    /// of a shell.
    private static func isPipe(_ path: String) -> Bool {
        var status = stat()
        guard path != "/dev/null", unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT != S_IFREG
    }

    /// Returns the files in a value of `-F`.
    ///
    /// There may be any number after `@`, separated by commas, but only one after `<`. A file may be followed
    /// by attributes after semicolons, of which `headers=` names more files.
    private static func files(ofPart value: String) -> [String] {
        let content = value.utf8.drop { $0 != UInt8(ascii: "=") }.dropFirst()
        guard let mark = content.first, "@<".utf8.contains(mark) else { return [] }
        let separators = mark == UInt8(ascii: "@") ? ",;" : ";"
        // Each word is preceded by the byte that introduced it.
        var words = [[mark]]
        var isQuoted = false
        var isEscaped = false
        for byte in content.dropFirst() {
            if isEscaped {
                words[words.count - 1].append(byte)
                isEscaped = false
            } else if !isQuoted, separators.utf8.contains(byte) {
                words.append([byte])
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                words[words.count - 1].append(byte)
            }
        }
        return words.compactMap { word in
            let text = word.dropFirst().drop { $0 == UInt8(ascii: " ") }
            guard word.first == UInt8(ascii: ";") else { return String(decoding: text, as: UTF8.self) }
            let rest = text.dropFirst("headers=".utf8.count)
            guard text.starts(with: "headers=".utf8), let mark = rest.first, "@<".utf8.contains(mark) else {
                return nil
            }
            return String(decoding: rest.dropFirst(), as: UTF8.self)
        }
    }
}

extension String {
    fileprivate var afterFirstByte: String { String(Substring(utf8.dropFirst())) }
}
