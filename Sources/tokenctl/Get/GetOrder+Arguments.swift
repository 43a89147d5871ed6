// SPDX-License-Identifier: MIT

import AgentProtocol

extension GetOrder {
    /// Reads `get NAME` and its options by hand.
    ///
    /// Answers nil for anything it is not sure about, such as `--help` or a wrong option: the argument parser knows
    /// what to say then.
    init?(reading arguments: [String]) {
        guard arguments.first == "get",
            arguments.count(where: { $0 == "--json" || $0.hasPrefix("--format") }) < 2
        else { return nil }
        self.init(demand: TokenDemand(session: ""))
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                guard demand.session.isEmpty, !argument.isEmpty else { return nil }
                demand.session = argument
                continue
            }
            if readFlag(argument) { continue }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst(),
                readOption(String(parts[0]), value)
            else { return nil }
        }
        guard !demand.session.isEmpty else { return nil }
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
        case "--refresh-if-repeated": heedsRepetition = true
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
            demand.proof = demand.proof ?? TokenDemand.Proof(url: "")
            demand.proof?.url = value
        case "--dpop-method": demand.proof?.method = value
        default: demand.proof?.nonce = value
        }
        return demand.proof != nil
    }
}
