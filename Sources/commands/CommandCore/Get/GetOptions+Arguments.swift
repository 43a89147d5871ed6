// SPDX-License-Identifier: MIT

import AgentProtocol

extension GetOptions {
    /// Parses `get NAME` and its options, or returns `nil` for anything unusual, such as `--help` or a wrong
    /// option.
    ///
    /// The argument parser then handles the command line. It also handles `--refresh-if-repeated`, for
    /// programs that have just received a token.
    package init?(reading arguments: some RandomAccessCollection<String>) {
        guard arguments.first == "get",
            arguments.count(where: { $0 == "--json" || $0.hasPrefix("--format") }) < 2
        else { return nil }
        self.init(tokenRequest: TokenRequest(session: ""))
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                guard tokenRequest.session.isEmpty, !argument.isEmpty else { return nil }
                tokenRequest.session = argument
                continue
            }
            if readFlag(argument) { continue }
            let sign = argument.utf8.firstIndex(of: UInt8(ascii: "="))
            guard let value = sign.map({ String(argument[$0...].dropFirst()) }) ?? rest.popFirst(),
                // A value in a separate argument may be empty but must not look like an option.
                sign == nil ? !value.hasPrefix("-") : !value.isEmpty,
                readOption(String(argument[..<(sign ?? argument.endIndex)]), value)
            else { return nil }
        }
        guard !tokenRequest.session.isEmpty else { return nil }
    }

    /// Parses the command line of this process.
    ///
    /// - Returns: The options, or `nil` if the arguments are unusual or the process was started under
    ///   another name.
    package static func ofThisProcess() -> GetOptions? {
        let words = ProcessArguments()
        guard let name = words.first, name.hasSuffix("tokenctl") else { return nil }
        return GetOptions(reading: words.dropFirst())
    }

    /// Returns whether the arguments select the format `env`, which a shell evaluates, even if other
    /// arguments are wrong.
    static func isForEval(_ arguments: [String]) -> Bool {
        guard arguments.first == "get" else { return false }
        return arguments.contains("--format=env")
            || zip(arguments, arguments.dropFirst()).contains { $0 == "--format" && $1 == "env" }
    }

    private mutating func readFlag(_ name: String) -> Bool {
        switch name {
        case "--no-wait":
            guard tokenRequest.timeout == nil else { return false }
            tokenRequest.timeout = .zero
        case "--id-token": tokenRequest.wantsIDToken = true
        case "--json": format = .json
        case "--no-autostart": endpoint.mayStartAgent = false
        default: return false
        }
        return true
    }

    private mutating func readOption(_ name: String, _ value: String) -> Bool {
        switch name {
        case "--min-valid":
            tokenRequest.minimumValidity = DurationText.parse(value, allowingBareSeconds: true)
            return tokenRequest.minimumValidity != nil
        case "--timeout":
            guard tokenRequest.timeout == nil else { return false }
            tokenRequest.timeout = DurationText.parse(value, allowingBareSeconds: true)
            return tokenRequest.timeout != nil
        case "--format":
            guard let named = TokenFormat(rawValue: value) else { return false }
            format = named
        case "--scope": tokenRequest.scopes.append(value)
        case "--audience": tokenRequest.audience = value
        case "--dpop-url", "--dpop-method", "--dpop-nonce": return readProofOption(name, value)
        case "--user": place.user = value
        case "--host": place.host = value
        case "--socket":
            guard !value.isEmpty else { return false }
            endpoint.socket = value
        default: return false
        }
        return true
    }

    /// Parses a `--dpop-` option after `--dpop-url`; other orders are left to the argument parser.
    private mutating func readProofOption(_ name: String, _ value: String) -> Bool {
        switch name {
        case "--dpop-url":
            tokenRequest.proof = tokenRequest.proof ?? TokenRequest.ProofTarget(url: "")
            tokenRequest.proof?.url = value
        case "--dpop-method": tokenRequest.proof?.method = value
        default: tokenRequest.proof?.nonce = value
        }
        return tokenRequest.proof != nil
    }
}
