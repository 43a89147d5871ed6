// SPDX-License-Identifier: MIT

import AgentProtocol
import Text

/// The arguments for curl, parsed to find the server and the places for our own options.
struct CurlArguments: Equatable {
    private enum Word: Equatable {
        case given(String)
        /// The value that names the file for headers, after the letters of a short option or alone.
        case headerFile(prefix: String)
        /// The place for an option that writes the headers of one request to standard output.
        case headersOnOutput
        /// The place for our own options for one request: last, so that no other option can override them.
        case ownOptions
    }

    /// The options that write bodies to files.
    private static let saving: Set = [
        "O", "J", "remote-name", "remote-name-all", "remote-header-name", "out-null",
    ]
    /// The options with which curl may first send a request without the token and react to the rejection.
    private static let negotiating: Set = ["anyauth", "basic", "digest", "negotiate", "ntlm", "ntlm-wb"]

    private var words: [Word] = []
    private var hasOptionsEnded = false
    /// The first option that is ``CurlOption/diverting(takesValue:)``, with dashes.
    private var diversion: String?
    /// The first option that is ``CurlOption/unproven``, with dashes.
    private var renunciation: String?
    /// The file to which the caller wants the headers written.
    private(set) var headerFile: String?
    /// The file for the headers of the request that is being parsed.
    private var headerFileOfRequest: String?
    /// Whether the output of the request that is being parsed has the head before the body.
    private var showsHeads = false
    /// The values of all requests for whether their heads are on standard output twice.
    private var repetitions: Set<Bool> = []
    /// The first file to which a body is written.
    private(set) var outputFile: String?
    /// Whether a body is written anywhere but to standard output.
    private var savesBodies = false
    /// Whether curl may first send a request without the token.
    private var mayAskWithoutToken = false
    /// Whether headers come from a file, one of which may replace the token.
    private(set) var mayReplaceToken = false
    /// The files that curl reads.
    private(set) var inputs = CurlInputs()
    /// The request that curl sends.
    private(set) var target = CurlTarget()

    /// Parses arguments for curl.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` for an option that sends the token elsewhere or
    ///   that ``CurlOption`` does not list.
    init(_ arguments: [String]) throws(AgentError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if hasOptionsEnded || !argument.hasPrefix("-") || argument == "-" {
                words.append(.given(argument))
                target.read(url: argument)
            } else if argument == "--" {
                hasOptionsEnded = true
                try endRequest(argument)
            } else if argument == "--next" || argument == "-:" {
                try endRequest(argument)
            } else if argument.hasPrefix("--") {
                try readLong(argument, &rest)
            } else {
                try readShort(argument, &rest)
            }
        }
        if !hasOptionsEnded { try endRequest() }
        guard includesHeaders, repetitions.count > 1 else { return }
        throw AgentError(
            .badRequest,
            "curl's options -i and -D - together would be for some of the requests only",
            remedy: "run tokenctl curl for each"
        )
    }

    /// Whether headers and bodies both go to standard output, where only curl itself can keep them in order.
    var includesHeaders: Bool { headerFile == "-" && !savesBodies }

    /// Whether curl writes each line of the heads to standard output twice, because of an additional -i.
    var repeatsHeaders: Bool { includesHeaders && repetitions.contains(true) }

    /// Whether each response belongs to a different request with the token.
    var makesSeveralRequests: Bool { target.namesSeveral && !mayAskWithoutToken }

    /// Whether another run of curl would send the same.
    var isRepeatable: Bool { !inputs.includePipes && !(inputs.includeEarlierOutput && savesBodies) }

    /// Returns the command line with our options in the file `config` and the headers sent to `headers`.
    ///
    /// `-q` comes first, because only there it keeps curl from reading the user's `.curlrc`.
    func commandLine(config: String, headers: String) -> [String] {
        ["-q"]
            + words.flatMap { word in
                switch word {
                case .given(let argument): [argument]
                case .headerFile(let prefix): [prefix + headers]
                case .headersOnOutput: includesHeaders ? ["--include"] : []
                case .ownOptions: ["--config", config]
                }
            }
    }

    /// Returns the one server for all requests.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if there is not exactly one server, or others
    ///   could read the token on the way.
    func server() throws(AgentError) -> ServerAddress {
        let server = try target.server()
        guard server.isPrivate else {
            throw AgentError(
                .badRequest,
                "\(server.origin) would show the token to everybody on the way",
                remedy: "use https"
            )
        }
        if server.isClear, let diversion {
            throw AgentError(
                .badRequest,
                "without https, curl's option \(diversion) would lead the token away from \(server.origin)"
            )
        }
        if !server.isLoopback, let renunciation {
            throw AgentError(
                .badRequest,
                "with curl's option \(renunciation) anybody could pass for \(server.origin)",
                remedy: "give the server's certificate with --cacert"
            )
        }
        return server
    }

    /// Ends the options for one request, with the argument that separates it from the next.
    ///
    /// - Throws: ``AgentError`` with the code `badRequest` if the request's headers have another target
    ///   than those of an earlier one.
    private mutating func endRequest(_ argument: String? = nil) throws(AgentError) {
        if let file = headerFileOfRequest {
            if let headerFile, headerFile != file {
                throw AgentError(
                    .badRequest,
                    "the headers of all requests go to one file, and curl's option -D names \(headerFile) and \(file)",
                    remedy: "run tokenctl curl for each"
                )
            }
            headerFile = file
            if file == "-" { words.append(.headersOnOutput) }
        }
        repetitions.insert(headerFileOfRequest == "-" && showsHeads)
        headerFileOfRequest = nil
        showsHeads = false
        words.append(.ownOptions)
        if let argument { words.append(.given(argument)) }
    }

    private mutating func readLong(_ argument: String, _ rest: inout ArraySlice<String>) throws(AgentError) {
        let name = String(argument.dropFirst(2))
        let option = try note(name, as: argument)
        words.append(.given(argument))
        guard option.takesValue else { return read(flag: name) }
        guard let value = rest.popFirst() else { return }
        try add(value, of: name, prefix: "")
    }

    private mutating func readShort(_ argument: String, _ rest: inout ArraySlice<String>) throws(AgentError) {
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() {
            let name = String(letter)
            guard try note(name, as: "-\(name)").takesValue else {
                read(flag: name)
                continue
            }
            if !letters.isEmpty {
                return try add(String(letters), of: name, prefix: String(argument[..<letters.startIndex]))
            }
            words.append(.given(argument))
            if let value = rest.popFirst() { try add(value, of: name, prefix: "") }
            return
        }
        words.append(.given(argument))
    }

    /// Finds an option and records its effect on the connection and the output.
    private mutating func note(_ name: String, as written: String) throws(AgentError) -> CurlOption {
        guard let option = CurlOption(name) else {
            throw AgentError(
                .badRequest,
                "it is not known whether curl's option \(written) would lead the token elsewhere",
                remedy: "write the options that curl's manual lists in full"
            )
        }
        switch option {
        case .harmless: break
        case .diverting: diversion = diversion ?? written
        case .unproven: renunciation = renunciation ?? written
        case .refused(let reason):
            throw AgentError(.badRequest, "curl's option \(written) has no place here: \(reason)")
        }
        savesBodies = savesBodies || CurlArguments.saving.contains(name)
        mayAskWithoutToken = mayAskWithoutToken || CurlArguments.negotiating.contains(name)
        return option
    }

    private mutating func read(flag: String) {
        switch flag {
        case "i", "include", "show-headers", "I", "head": showsHeads = true
        case "no-include", "no-show-headers", "no-head": showsHeads = false
        default: break
        }
        target.read(flag: flag)
        inputs.read(flag: flag)
    }

    private mutating func add(_ value: String, of name: String, prefix: String) throws(AgentError) {
        target.read(value, of: name)
        inputs.read(value, of: name)
        switch name {
        case "D", "dump-header":
            headerFileOfRequest = value
            return words.append(.headerFile(prefix: prefix))
        case "o", "output":
            outputFile = outputFile ?? value
            savesBodies = savesBodies || value != "-"
        case "H", "header": try note(header: value)
        default: break
        }
        words.append(.given(prefix + value))
    }

    /// Rejects a header that would replace the token; the server's rejection of it would be blamed on the
    /// token.
    private mutating func note(header: String) throws(AgentError) {
        mayReplaceToken = mayReplaceToken || header.utf8.first == UInt8(ascii: "@")
        let name = header.utf8.prefix { $0.isUsualInToken }.map(\.lowercasedASCII)
        for own in ["authorization", "dpop"] where name.elementsEqual(own.utf8) {
            throw AgentError(
                .badRequest,
                "curl's option -H has no place here with \(own): the session's token is sent in it",
                remedy: "use curl itself for another credential"
            )
        }
    }
}
