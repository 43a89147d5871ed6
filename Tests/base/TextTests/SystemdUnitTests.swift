// SPDX-License-Identifier: MIT

import Testing
import Text

@Suite struct SystemdUnitTests {
    @Test(arguments: [
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/backup.service\n", "backup.service"),
        ("0::/user.slice/user-1000.slice/session-2.scope\n", "session-2.scope"),
        ("0::/system.slice/cron.service\n", "cron.service"),
        ("0::/\n", nil),
        ("1:name=systemd:/system.slice/cron.service\n0::/\n", "cron.service"),
        ("9:memory:/x.service\n1:name=systemd:/\n0::/\n", nil),
        ("0::/system.slice/a:b.service\n", "a:b.service"),
        ("", nil),
    ])
    func `the unit is the innermost of the control group`(text: String, unit: String?) {
        #expect(SystemdUnit(inGroups: text)?.name == unit)
    }

    @Test(arguments: [
        (
            "system.slice/system-tokenagent.slice/tokenagent@build.service",
            "systemctl restart tokenagent@build"
        ),
        (
            "user.slice/user-1000.slice/user@1000.service/app.slice/tokenagent.service",
            "systemctl --user restart tokenagent"
        ),
        (#"system.slice/a\x2db.service"#, #"systemctl restart 'a\x2db'"#),
    ])
    func `a unit is restarted by its own manager`(group: String, command: String) {
        #expect(SystemdUnit(inGroups: "0::/\(group)\n")?.restart == command)
    }

    @Test(arguments: [
        (["NOTIFY_SOCKET": "/run/systemd/notify"], true), (["LISTEN_PID": "7"], true),
        (["SYSTEMD_EXEC_PID": "7"], true), ([:], false), (["LISTEN_PID": "6"], false),
        (["SYSTEMD_EXEC_PID": "6"], false),
    ])
    func `a process that a job of a unit has started is not its main process`(
        variables: [String: String],
        isMain: Bool
    ) {
        #expect(SystemdUnit.isMainProcess(7, variables) == isMain)
    }
}
