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
