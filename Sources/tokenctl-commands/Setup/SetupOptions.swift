// SPDX-License-Identifier: MIT

import ArgumentParser

/// The options for the setup of a program; most programs need few of them.
struct SetupOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The session; else those whose hosts name servers.", valueName: "name"))
    var session: SessionArgument?

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            "Only this server of those in hosts; for ssh the host; repeatable.",
            valueName: "host"
        )
    )
    var hosts: [String] = []

    @Option(
        help: ArgumentHelp("The registry, profile, server or user in the program's words.", valueName: "name")
    )
    var name: String?

    @Option(help: ArgumentHelp("The program's file, in place of the usual one.", valueName: "path"))
    var file: String?

    @Option(help: ArgumentHelp("For mcp: the address of the server.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("For ssh and devcontainer: the path of a [[socket]].", valueName: "path"))
    var local: String?

    @Option(help: ArgumentHelp("For ssh: the path of the socket there.", valueName: "path"))
    var remote: String?

    @Option(help: ArgumentHelp("For gcloud: the provider that takes the ID token.", valueName: "audience"))
    var audience: String?

    @Option(help: ArgumentHelp("For aws: the account of the role.", valueName: "id"))
    var account: String?

    @Option(help: ArgumentHelp("For aws: the role.", valueName: "name"))
    var role: String?

    @Flag(name: .customLong("id-token"), help: "For kubectl: the ID token in place of the access token.")
    var wantsIDToken = false
}
