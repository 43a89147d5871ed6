// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore

/// The command `get` for the argument parser: its help, and arguments that ``GetOptions`` does not parse.
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print an access token.",
        discussion: """
            The token comes from the agent's memory and is refreshed there before it expires. Durations are \
            written 90s, 5m or 1h30m; a bare number means seconds. Pass a token to curl with: \
            tokenctl get NAME --format header | curl -fsH @- URL
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Option(
        name: .customLong("min-valid"),
        help: ArgumentHelp("Require this much remaining validity.", valueName: "duration")
    )
    var minimumValidity: DurationArgument?

    @Option(help: ArgumentHelp("Wait at most this long for a refresh.", valueName: "duration"))
    var timeout: DurationArgument?

    @Flag(name: .customLong("no-wait"), help: "Do not wait for a refresh.")
    var doesNotWait = false

    @Option(help: "The output format.")
    var format: TokenFormat?

    @Option(help: ArgumentHelp("The user name, for netrc and the sasl formats.", valueName: "user"))
    var user: String?

    @Option(help: ArgumentHelp("The host name, for netrc.", valueName: "host"))
    var host: String?

    @Flag(
        name: .customLong("refresh-if-repeated"),
        help: "Refresh if the same program repeats the request, as after a rejected token."
    )
    var heedsRepetition = false

    @OptionGroup var variant: VariantOptions

    @Flag(name: .customLong("id-token"), help: "Print the ID token instead.")
    var wantsIDToken = false

    @OptionGroup var proof: ProofOptions

    @OptionGroup var agent: AgentAndOutputOptions

    func validate() throws {
        guard !doesNotWait || timeout == nil else {
            throw ValidationError("--no-wait cannot be combined with --timeout")
        }
        guard !agent.wantsJSON || format == nil || format == .json else {
            throw ValidationError("--json cannot be combined with --format")
        }
    }

    func run() throws {
        try order.check()
        if heedsRepetition { try replaceRepeatedToken() }
        try order.carryOut()
    }

    /// The options that the arguments select, except `--refresh-if-repeated`.
    var order: GetOptions {
        let tokenRequest = TokenRequest(
            session: session.name,
            minimumValidity: minimumValidity?.duration,
            timeout: doesNotWait ? .zero : timeout?.duration,
            scopes: variant.scopes,
            audience: variant.audience,
            wantsIDToken: wantsIDToken,
            proof: proof.tokenRequest
        )
        let chosen = agent.wantsJSON ? .json : format ?? .token
        return GetOptions(
            tokenRequest: tokenRequest,
            format: chosen,
            place: HostAndUser(host: host, user: user),
            endpoint: agent.endpoint
        )
    }

    /// Replaces the token if the same program received it just now.
    private func replaceRepeatedToken() throws(AgentError) {
        let order = order
        do {
            _ = try RejectionAwareRequest(
                tokenRequest: order.tokenRequest,
                sign: .repetition(of: "get"),
                endpoint: order.endpoint
            )
            .token()
        } catch {
            throw error.about(order.tokenRequest.session)
        }
    }
}

extension TokenFormat: ExpressibleByArgument {}
