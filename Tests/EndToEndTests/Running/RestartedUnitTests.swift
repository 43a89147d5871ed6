// SPDX-License-Identifier: MIT

import TestSupport
import Testing

extension EndToEnd {
    /// Remedies of an agent that a unit of systemd runs.
    @Suite(.enabled(if: SmallDisk.possible.contains(.tmpfs), "only root can mount another control group"))
    struct RestartedUnitTests {
        /// Starts an agent as the main process of the unit in `$HOME/groups`.
        private static let script = """
            NOTIFY_SOCKET="$HOME/none" unshare -m sh -c 'mount --make-rprivate / &&
                mount --bind "$HOME/groups" /proc/$$/cgroup && exec tokenagent --foreground' >"$HOME/log" 2>&1 &
            until grep -q ready "$HOME/log" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
            tokenctl vault slots add --type keyfile --path "$HOME/key"
            tokenctl vault slots add --type systemd-cred --credential tokenagent
            tokenctl shutdown
            wait
            """

        /// The start of the unit, and a `systemctl` that restarts it and nothing else.
        private static let unit = """
            NOTIFY_SOCKET="$HOME/none" unshare -m sh -c 'mount --make-rprivate / &&
                mount --bind "$HOME/groups" /proc/$$/cgroup && exec tokenagent --foreground' >"$HOME/log" 2>&1 &
            until grep -q ready "$HOME/log" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
            """
        private static let systemctl = """
            #!/bin/sh
            [ "$*" = "restart tokenagent@build" ] && tokenctl shutdown && . "$HOME/unit"
            """

        @Test func `what reload and doctor say restarts the unit`() async throws {
            let scene = try await Scene()
            let home = scene.agent.home
            try home.write("0::/system.slice/tokenagent@build.service\n", to: "groups")
            try home.write(Self.unit, to: "unit")
            try home.makeDirectory("fake")
            try home.write(Self.systemctl, to: "fake/systemctl", mode: 0o700)
            let text = try #require(File.text(scene.agent.configurationPath))
            let file = "[[file]]\npath = \"\(home.path("late/token"))\"\nsession = \"work\"\n"
            try home.write(file + text, to: "new")
            let result = try await scene.agent.shell(
                """
                PATH="$HOME/fake:$PATH"
                . "$HOME/unit"
                mkdir -m 700 "$HOME/late"
                cp "$HOME/new" "\(scene.agent.configurationPath)"
                for round in 1 2; do
                    tokenctl reload >"$HOME/reloaded" 2>&1; echo "reload: $?"
                    tokenctl doctor | grep -o 'run: systemctl.*)' | sort -u
                    eval "$(sed -n 's/^  Run: //p' "$HOME/reloaded")"; echo "followed: $?"
                done
                ! grep 'tokenctl shutdown' "$HOME/log" "$HOME/reloaded"
                export XDG_STATE_HOME="$HOME/other"
                mkdir -m 700 "$XDG_STATE_HOME"
                tokenctl doctor | sed -n 's/.*(set: the same variables in Environment= .*, then run /then: /p'
                systemctl restart tokenagent@build
                tokenctl doctor | grep -c 'set: the same variables'
                tokenctl shutdown
                """
            )
            #expect(
                result.standardOutput == """
                    reload: 1
                    run: systemctl restart tokenagent@build)
                    followed: 0
                    reload: 0
                    followed: 0
                    then: systemctl restart tokenagent@build)
                    0

                    """,
                "\(result)"
            )
        }

        @Test(arguments: [
            ("system.slice/tokenagent@build.service", "systemctl restart tokenagent@build"),
            (
                "user.slice/user-7.slice/user@7.service/app.slice/tokenagent.service",
                "systemctl --user restart tokenagent"
            ),
        ])
        func `a remedy restarts the unit, by its own manager`(group: String, command: String) async throws {
            let scene = try await Scene()
            try scene.agent.home.write("0::/\(group)\n", to: "groups")
            let result = try await scene.agent.shell(Self.script)
            #expect(
                result.standardError.split(separator: "\n").filter { $0.hasSuffix(", then run \(command)") }
                    .count
                    == 2,
                "\(result)"
            )
        }
    }
}
