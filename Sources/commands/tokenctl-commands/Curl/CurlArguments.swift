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
    /// The first option that is ``CurlOptionEffect/diverting(takesValue:)``, with dashes.
    private var diversion: String?
    /// The first option that is ``CurlOptionEffect/unproven``, with dashes.
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
    private(set) var inputs = CurlInputFiles()
    /// The request that curl sends.
    private(set) var target = CurlProofTarget()

    /// The address before URLs that are paths.
    private let base: String?

    /// Parses arguments for curl.
    ///
    /// - Parameters:
    ///   - arguments: The arguments.
    ///   - base: The address before URLs that are paths, or `nil` if all are complete.
    /// - Throws: ``AgentError`` with the code `badRequest` for an option that sends the token elsewhere or
    ///   that ``CurlOptionEffect`` does not list.
    init(_ arguments: [String], base: String? = nil) throws(AgentError) {
        self.base = base
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if hasOptionsEnded || !argument.hasPrefix("-") || argument == "-" {
                let url = complete(argument)
                words.append(.given(url))
                target.read(url: url)
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
            "curl's options -i and -D - cannot be combined for only some of the requests",
            remedy: .retry("with one tokenctl curl for each request")
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
                "refusing to send the token over plain http to \(server.place.host)",
                remedy: .set("https in the URL")
            )
        }
        if server.isClear, let diversion {
            throw AgentError(
                .badRequest,
                "curl's option \(diversion) requires https: without it, the token could leave \(server.origin)"
            )
        }
        if !server.isLoopback, let renunciation {
            throw AgentError(
                .badRequest,
                "refusing curl's option \(renunciation): \(server.origin) would not be verified",
                remedy: .set("--cacert to the server's certificate")
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
                    "curl's option -D requires one file for all requests, not \(headerFile) and \(file)",
                    remedy: .retry("with one tokenctl curl for each request")
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
    private mutating func note(_ name: String, as written: String) throws(AgentError) -> CurlOptionEffect {
        guard let option = CurlOptionEffect(name) else {
            throw AgentError(
                .badRequest,
                "unknown curl option \(written): it could send the token elsewhere",
                remedy: .set("the full name of an option in curl(1)")
            )
        }
        switch option {
        case .harmless: break
        case .diverting: diversion = diversion ?? written
        case .unproven: renunciation = renunciation ?? written
        case .refused(let reason):
            throw AgentError(.badRequest, "curl's option \(written) is not allowed: \(reason)")
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

    private func complete(_ url: String) -> String {
        guard let base, url.utf8.first == UInt8(ascii: "/") else { return url }
        return base + url
    }

    private mutating func add(_ value: String, of name: String, prefix: String) throws(AgentError) {
        let value = name == "url" ? complete(value) : value
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
                "curl's option -H cannot set \(own): it contains the session's token",
                remedy: .retry("without -H \(own)")
            )
        }
    }
}
