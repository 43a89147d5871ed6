// SPDX-License-Identifier: MIT

/// The arguments for curl, as far as they matter to who watches its answers.
struct CurlArguments: Equatable {
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
    /// What curl will ask for.
    private(set) var target = CurlTarget()

    init(_ arguments: [String]) {
        var rest = arguments[...]
        // Only as the first argument it keeps curl from reading its own configuration.
        if let first = rest.first, first.hasPrefix("-q") || first == "--disable" {
            rest.removeFirst()
            first == "--disable" ? words.append(.given(first)) : readShort(first, &rest)
        }
        words.append(.ownOptions)
        while let argument = rest.popFirst() {
            if hasOptionsEnded || argument.hasPrefix("-") == false || argument == "-" {
                words.append(.given(argument))
                target.read(url: argument)
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
        // An expanded value is read as it stands: nobody but curl knows its variables.
        let name = String(argument.dropFirst(argument.hasPrefix("--expand-") ? 9 : 2))
        guard CurlArguments.longWithValue.contains(name) else { return target.read(flag: name) }
        guard let value = rest.popFirst() else { return }
        add(value, of: name, prefix: "")
    }

    private mutating func readShort(_ argument: String, _ rest: inout ArraySlice<String>) {
        let flags = argument.dropFirst().prefix { CurlArguments.shortWithValue.contains($0) == false }
        for flag in flags { target.read(flag: String(flag)) }
        let letter = flags.endIndex
        guard letter < argument.endIndex else { return words.append(.given(argument)) }
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
        target.read(value, of: name)
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
