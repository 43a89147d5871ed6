// SPDX-License-Identifier: MIT

/// The arguments for curl, as far as they matter to who watches its answers.
struct CurlArguments: Equatable {
    /// Short options of curl 7.60 to 8.17 that take a value.
    private static let shortWithValue = Set("AbCcDdEeFHhKmoPQrTtUuwXxYyz")
    /// Long options that take a value which may begin with a hyphen, or which matter here.
    private static let longWithValue: Set = [
        "config", "cookie", "data", "data-ascii", "data-binary", "data-raw", "data-urlencode", "dump-header",
        "form", "form-string", "header", "json", "output", "request", "upload-file", "url", "url-query",
        "user", "user-agent", "variable", "write-out",
    ]

    private enum Word: Equatable {
        case given(String)
        /// Where the place for headers stands, after a short option's letters or alone.
        case headerFile(prefix: String)
        /// Where our own options of the next request go.
        case ownOptions
    }

    private var words: [Word] = []
    private var hasOptionsEnded = false
    /// Where the caller wants the headers.
    private(set) var headerFile: String?
    /// The first file that a body goes to.
    private(set) var outputFile: String?
    /// Whether curl will read standard input.
    private(set) var readsStandardInput = false

    init(_ arguments: [String]) {
        var rest = arguments[...]
        // Only as the first argument it keeps curl from reading its own configuration.
        if let first = rest.first, first.hasPrefix("-q") || first == "--disable" {
            words.append(.given(first))
            rest.removeFirst()
        }
        words.append(.ownOptions)
        while let argument = rest.popFirst() {
            if hasOptionsEnded || argument.hasPrefix("-") == false || argument == "-" {
                words.append(.given(argument))
            } else if argument == "--" {
                hasOptionsEnded = true
                words.append(.given(argument))
            } else if argument == "--next" || argument == "-:" {
                words += [.given(argument), .ownOptions]
            } else if argument.hasPrefix("--") {
                readLong(argument, &rest)
            } else {
                readShort(argument, &rest)
            }
        }
    }

    /// The command line with our options in the file `config` and the headers sent to `headers`.
    func commandLine(config: String, headers: String) -> [String] {
        words.flatMap { word in
            switch word {
            case .given(let argument): [argument]
            case .headerFile(let prefix): [prefix + headers]
            case .ownOptions: ["--config", config]
            }
        }
    }

    private mutating func readLong(_ argument: String, _ rest: inout ArraySlice<String>) {
        words.append(.given(argument))
        let name = String(argument.dropFirst(2))
        guard CurlArguments.longWithValue.contains(name), let value = rest.popFirst() else { return }
        add(value, of: name, prefix: "")
    }

    private mutating func readShort(_ argument: String, _ rest: inout ArraySlice<String>) {
        guard let letter = argument.dropFirst().firstIndex(where: CurlArguments.shortWithValue.contains)
        else {
            return words.append(.given(argument))
        }
        let value = argument[argument.index(after: letter)...]
        let name = String(argument[letter])
        if value.isEmpty == false {
            add(String(value), of: name, prefix: String(argument[...letter]))
        } else {
            words.append(.given(argument))
            if let value = rest.popFirst() { add(value, of: name, prefix: "") }
        }
    }

    private mutating func add(_ value: String, of name: String, prefix: String) {
        switch name {
        case "D", "dump-header":
            headerFile = value
            return words.append(.headerFile(prefix: prefix))
        case "o", "output": outputFile = outputFile ?? value
        case "d", "data", "data-ascii", "data-binary", "json", "H", "header", "url", "url-query":
            note(value == "@-")
        case "data-urlencode", "variable": note(value.hasSuffix("@-"))
        case "F", "form": note(value.contains("@-") || value.contains("<-"))
        case "T", "upload-file": note(value == "-" || value == ".")
        case "K", "config", "b", "cookie": note(value == "-")
        default: break
        }
        words.append(.given(prefix + value))
    }

    private mutating func note(_ isStandardInput: Bool) {
        readsStandardInput = readsStandardInput || isStandardInput
    }
}
