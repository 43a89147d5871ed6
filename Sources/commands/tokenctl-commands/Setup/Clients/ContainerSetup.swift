// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc
import Text

/// The setup of containers, clusters and services.
enum ContainerSetup {
    static func docker(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let file = request.options.file ?? request.places.file("DOCKER_CONFIG", ".docker") + "/config.json"
        let helper = JSONValue.string("tokenagent")
        let all = JSONItem(file, in: "credHelpers", nil, helper, isStrict: true)
        let present = try all.names()
        let entries = try request.entries()
        try request.checkChoice(entries)
        let hosts = try request.isUndo ? request.hostsToTakeBack(of: present) : entries.map(\.host)
        let single = Set(hosts).sorted().map { JSONItem(file, in: "credHelpers", $0, helper, isStrict: true) }
        let items = request.isUndo && hosts == present ? [all] : single
        // Entries for other servers need the link.
        let isNeeded = request.isUndo && !Set(present).isSubset(of: hosts)
        let links = isNeeded ? [] : try request.link(inPathAs: "docker-credential-tokenagent")
        return SetupPlan(
            changes: items + links,
            checks: [SetupCheck(command: ["docker-credential-tokenagent", "list"], answer: "{")],
            notes: request.note(on: links)
        )
    }

    static func kubectl(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let session = try request.knownSession()
        let named = try request.optional("--name", request.options.name, "the user of the kubeconfig")
        let user = named ?? "tokenagent-\(session)"
        guard request.places.program("kubectl") != nil else {
            throw AgentError(
                .internal,
                "kubectl not found in PATH, which is required to change its configuration"
            )
        }
        let file = request.options.file.map { ["--kubeconfig", $0] } ?? []
        var words = ["kube-credential", session]
        if request.options.wantsIDToken { words.append("--id-token") }
        let plugin = [
            "--exec-api-version=client.authentication.k8s.io/v1", "--exec-interactive-mode=Never",
            "--exec-command=\(request.program)",
        ]
        let arguments = words.map { "--exec-arg=\($0)" }
        // The output includes the name, so that a user of that name with another login method is found too.
        let found = "{.users[?(@.name==\"\(user)\")]"
        let setting = ProgramSetting(
            set: ["kubectl", "config", "set-credentials", user] + file + plugin + arguments,
            unset: ["kubectl", "config", "delete-user", user] + file,
            get: ["kubectl", "config", "view"] + file
                + ["-o", "jsonpath=\(found).name} \(found).user.exec['command', 'args']}"],
            value: "\(user) \(request.program) [\(words.map { "\"\($0)\"" }.joined(separator: ","))]",
            file: kubeconfig(request),
            isBare: isBareKubeconfig
        )
        let advice = request.isUndo ? nil : try contextNote(of: user, file)
        let notes = [advice, "kubectl rewrites its file without comments"].compactMap(\.self)
        return SetupPlan(changes: [setting], notes: notes)
    }

    /// Returns the note on the context that has yet to use `user`, or `nil` if one uses it.
    private static func contextNote(of user: String, _ file: [String]) throws(AgentError) -> String? {
        func names(_ path: String) throws(AgentError) -> String {
            let run = try CompletedRun(["kubectl", "config", "view"] + file + ["-o", "jsonpath=\(path)"])
            return run.status == 0 ? run.words : ""
        }
        guard try names("{.contexts[?(@.context.user==\"\(user)\")].name}").isEmpty else { return nil }
        let change = ProgramSetting.line(["--user=\(user)"] + file)
        guard try names("{.current-context}").isEmpty else {
            let command = Remedy.run("kubectl config set-context --current \(change)")
            return "no context uses it yet \(command.parenthesized)"
        }
        let use = ProgramSetting.line(["CONTEXT"] + file)
        let contexts = try names("{.contexts[*].name}")
        guard contexts.isEmpty else {
            let command = Remedy.run(
                "kubectl config set-context CONTEXT \(change) && kubectl config use-context \(use)"
            )
            return "none of the contexts is current: \(contexts) \(command.parenthesized)"
        }
        let context = "set-context CONTEXT --cluster=CLUSTER \(change) && kubectl config use-context \(use)"
        let clusters = try names("{.clusters[*].name}")
        guard clusters.isEmpty else {
            let command = Remedy.run("kubectl config \(context)")
            return "no context, only the clusters: \(clusters) \(command.parenthesized)"
        }
        let cluster = ProgramSetting.line(["CLUSTER"] + file)
        let command = Remedy.run(
            "kubectl config set-cluster --server=URL \(cluster) && kubectl config \(context)"
        )
        return "no context and no cluster yet \(command.parenthesized)"
    }

    /// Returns the file that kubectl writes, or `nil` if it chooses one of several.
    private static func kubeconfig(_ request: SetupRequest) -> String? {
        if let file = request.options.file { return file }
        guard let named = AgentPaths.variable("KUBECONFIG"), !named.isEmpty else {
            return request.places.home + "/.kube/config"
        }
        return named.utf8.contains(UInt8(ascii: ":")) ? nil : named
    }

    /// Returns whether kubectl wrote the file and it is empty: no cluster, user, context or setting.
    private static func isBareKubeconfig(_ text: String) -> Bool {
        let nothing: Set = ["apiVersion: v1", "kind: Config"]
        return text.split(separator: "\n").allSatisfy { line in
            let isEmpty = [": null", ": {}", ": []", ": \"\""].contains { line.hasSuffix($0) }
            return nothing.contains(String(line)) || !line.hasPrefix(" ") && isEmpty
        }
    }

    static func systemd(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let agent = "tokenagent.socket"
        let proxy = "tokenagent-proxy.service"
        let named = try request.optional("--name", request.options.name, "a user unit")
        if let named, named != agent, named != proxy {
            throw AgentError(
                .badRequest,
                "unknown unit \"\(named)\"",
                remedy: .set("--name to \(agent) or \(proxy)")
            )
        }
        let units = named.map { [$0] } ?? (request.isUndo ? [agent, proxy] : [agent])
        let control = ["systemctl", "--user"]
        let settings = units.map { unit in
            ProgramSetting(
                set: control + ["enable", "--now", unit],
                unset: control + ["disable", "--now", unit] + (unit == agent ? ["tokenagent.service"] : []),
                get: control + ["is-enabled", unit],
                value: "enabled",
                absent: "disabled"
            )
        }
        let lingering = Remedy.run("loginctl enable-linger")
        let note = "user units run only while you are logged in \(lingering.parenthesized)"
        let isLingering = try? CompletedRun(["loginctl", "show-user", "--property=Linger", "\(geteuid())"])
            .words.contains("yes")
        return SetupPlan(
            changes: settings,
            checks: units.map { unit in
                SetupCheck(command: control + ["show", "--property=ActiveState", unit], answer: "=active")
            },
            notes: isLingering == true ? [] : [note]
        )
    }

    static func devcontainer(_ request: SetupRequest) throws(AgentError) -> SetupPlan {
        let usual = [".devcontainer/devcontainer.json", ".devcontainer.json"]
        let file = request.options.file ?? request.places.present(usual)
        let mark = "target=\(SetupPlan.containerDirectory),type=bind"
        var socket = ""
        if !request.isUndo {
            let purpose = "of a [[socket]], in a directory of its own"
            socket = try request.mountedSocket(purpose)
            guard try EditedFile(file).text != nil else {
                throw AgentError(
                    .badRequest,
                    "file not found: \(file)",
                    remedy: .set("--file to the path of devcontainer.json")
                )
            }
        }
        let name = socket.split(separator: "/").last ?? ""
        let mount = JSONValue.string("source=\(EditedFile.directory(of: socket)),\(mark)")
        let variable = JSONValue.string("\(SetupPlan.containerDirectory)/\(name)")
        return SetupPlan(
            changes: [
                JSONItem(file, in: "mounts", nil, mount, isElement: true, isMarked: true) { value in
                    value.string?.hasSuffix(mark) == true
                },
                JSONItem(file, in: "containerEnv", "TOKENAGENT_SOCK", variable, isMarked: true) { value in
                    value.string?.hasPrefix(SetupPlan.containerDirectory + "/") == true
                },
            ],
            notes: [
                "the whole directory is mounted, so that the agent can create its socket again",
                "copy libexec/tokenagent/tokenctl-commands into the container as tokenctl",
            ]
        )
    }
}

extension SetupPlan {
    /// The directory of the `[[socket]]` inside a container.
    fileprivate static let containerDirectory = "/run/tokenagent"
}
