// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Text

/// The command `refresh`, which refreshes a token even if it is still valid.
struct RefreshCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Refresh a session now.",
        discussion: """
            With --rejected-stdin, the token that a server rejected is read from standard input, and a \
            refresh happens only if that token is still the current one.
            """
    )

    @Argument(help: .sessionName)
    var session: SessionArgument

    @Flag(name: .customLong("rejected-stdin"), help: "Read the rejected token from standard input.")
    var readsRejectedToken = false

    @OptionGroup var variant: VariantOptions

    @OptionGroup var agent: AgentAndOutputOptions

    func run() throws {
        var body = AgentRequestBody<RefreshRequestMembers>()
        if readsRejectedToken { body.add(\.rejectedToken, secret: try StandardInput.secret("token")) }
        body.add(variant.scopes, variant.audience)
        var request = AgentRequest(.post, "sessions", session.name, "refresh", body: body.finished())
        defer { request.wipeBody() }
        let answer: TokenMessage
        do {
            answer = try agent.endpoint.message(request, timeout: .seconds(3605))
        } catch {
            throw error.about(session.name)
        }
        if agent.wantsJSON { try StandardOutput.json(answer.json) }
    }
}
