// SPDX-License-Identifier: MIT

import ArgumentParser

/// The options for the setup of a program; most programs need few of them.
struct SetupOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The session; by default all that list servers in hosts.", valueName: "name"))
    var session: SessionArgument?

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            "Only this server of those in hosts, or the host for ssh; repeatable.",
            valueName: "host"
        )
    )
    var hosts: [String] = []

    @Option(
        help: ArgumentHelp(
            "The registry (cargo), profile (aws), server (mcp), user (kubectl) or unit (systemd) to set up.",
            valueName: "name"
        )
    )
    var name: String?

    @Option(help: ArgumentHelp("The program's file, instead of the default one.", valueName: "path"))
    var file: String?

    @Option(help: ArgumentHelp("For mcp: the URL of the server.", valueName: "url"))
    var url: String?

    @Option(
        name: .customLong("ca-file"),
        help: ArgumentHelp("For mcp: trust these CA certificates too.", valueName: "path")
    )
    var caFile: String?

    @Option(help: ArgumentHelp("For ssh and devcontainer: the path of a [[socket]].", valueName: "path"))
    var local: String?

    @Option(help: ArgumentHelp("For ssh: the path of the socket on the other host.", valueName: "path"))
    var remote: String?

    @Option(help: ArgumentHelp("For gcloud: the provider that accepts the ID token.", valueName: "audience"))
    var audience: String?

    @Option(help: ArgumentHelp("For aws: the account of the role.", valueName: "id"))
    var account: String?

    @Option(help: ArgumentHelp("For aws: the name of the role.", valueName: "name"))
    var role: String?

    @Flag(name: .customLong("id-token"), help: "For kubectl: use the ID token instead of the access token.")
    var wantsIDToken = false
}
