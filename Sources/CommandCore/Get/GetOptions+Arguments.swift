// SPDX-License-Identifier: MIT

import AgentProtocol

extension GetOptions {
    /// Reads `get NAME` and its options by hand.
    ///
    /// Answers nil for anything it is not sure about, such as `--help` or a wrong option: the argument parser knows
    /// what to say then. It also knows `--refresh-if-repeated`, which is for a program that got a token just now.
    package init?(reading arguments: some RandomAccessCollection<String>) {
        guard arguments.first == "get",
            arguments.count(where: { $0 == "--json" || $0.hasPrefix("--format") }) < 2
        else { return nil }
        self.init(demand: TokenRequest(session: ""))
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                guard demand.session.isEmpty, !argument.isEmpty else { return nil }
                demand.session = argument
                continue
            }
            if readFlag(argument) { continue }
            let sign = argument.utf8.firstIndex(of: UInt8(ascii: "="))
            guard let value = sign.map({ String(argument[$0...].dropFirst()) }) ?? rest.popFirst(),
                // As a word of its own it may be empty, but must not look like an option.
                sign == nil ? !value.hasPrefix("-") : !value.isEmpty,
                readOption(String(argument[..<(sign ?? argument.endIndex)]), value)
            else { return nil }
        }
        guard !demand.session.isEmpty else { return nil }
    }

    /// Reads the command line of this process; nil too if it was called by a name of another command.
    package static func ofThisProcess() -> GetOptions? {
        let words = CommandWords()
        guard let name = words.first, name.hasSuffix("tokenctl") else { return nil }
        return GetOptions(reading: words.dropFirst())
    }

    /// Whether the words ask for the format `env`, which a shell evaluates, even if other words are wrong.
    static func isForEval(_ arguments: [String]) -> Bool {
        guard arguments.first == "get" else { return false }
        return arguments.contains("--format=env")
            || zip(arguments, arguments.dropFirst()).contains { $0 == "--format" && $1 == "env" }
    }

    private mutating func readFlag(_ name: String) -> Bool {
        switch name {
        case "--no-wait":
            guard demand.timeout == nil else { return false }
            demand.timeout = .zero
        case "--id-token": demand.wantsIDToken = true
        case "--json": format = .json
        case "--no-autostart": endpoint.mayStartAgent = false
        default: return false
        }
        return true
    }

    private mutating func readOption(_ name: String, _ value: String) -> Bool {
        switch name {
        case "--min-valid":
            demand.minimumValidity = DurationText.parse(value, allowingBareSeconds: true)
            return demand.minimumValidity != nil
        case "--timeout":
            guard demand.timeout == nil else { return false }
            demand.timeout = DurationText.parse(value, allowingBareSeconds: true)
            return demand.timeout != nil
        case "--format":
            guard let named = TokenFormat(rawValue: value) else { return false }
            format = named
        case "--scope": demand.scopes.append(value)
        case "--audience": demand.audience = value
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

    /// Takes the URL first; the argument parser knows the other orders.
    private mutating func readProofOption(_ name: String, _ value: String) -> Bool {
        switch name {
        case "--dpop-url":
            demand.proof = demand.proof ?? TokenRequest.Proof(url: "")
            demand.proof?.url = value
        case "--dpop-method": demand.proof?.method = value
        default: demand.proof?.nonce = value
        }
        return demand.proof != nil
    }
}
