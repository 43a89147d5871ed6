// SPDX-License-Identifier: MIT

import Testing
import Text

@testable import AgentServer

@Suite struct AgentServiceTests {
    private static let credential: Remedy = .set(
        "x, then run tokenctl shutdown && systemctl --user start tokenagent"
    )
    private static let restart: Remedy = .run("tokenctl shutdown && tokenagent")

    private static func service(
        _ group: String = "system.slice/cron.service",
        _ variables: [String: String] = [:],
        hasSystemd: Bool = true
    ) -> AgentService {
        AgentService(
            controlGroups: "0::/\(group)\n",
            process: 7,
            hasSystemd: hasSystemd,
            environment: { variables[$0] }
        )
    }

    @Test(arguments: [
        ["NOTIFY_SOCKET": "/run/systemd/notify"], ["LISTEN_PID": "7"], ["SYSTEMD_EXEC_PID": "7"],
    ])
    func `an agent that is a unit is restarted by the manager of the unit`(variables: [String: String]) {
        let own = Self.service("user.slice/user@1000.service/app.slice/tokenagent.service", variables)
        #expect(own.adapted(Self.restart) == .run("systemctl --user restart tokenagent"))
        #expect(own.adapted(Self.credential) == .set("x, then run systemctl --user restart tokenagent"))
        let system = Self.service("system.slice/system-tokenagent.slice/tokenagent@build.service", variables)
        #expect(system.adapted(Self.restart) == .run("systemctl restart tokenagent@build"))
        #expect(system.adapted(Self.credential) == .set("x, then run systemctl restart tokenagent@build"))
    }

    @Test(arguments: [[:], ["LISTEN_PID": "6"], ["SYSTEMD_EXEC_PID": "6"]])
    func `an agent that a job of a unit has started is not that unit`(variables: [String: String]) {
        let job = Self.service("system.slice/cron.service", variables)
        for remedy in [
            Self.restart, Self.credential, .run("tokenctl unlock"), .set("x, then run tokenctl reload"),
        ] {
            #expect(job.adapted(remedy) == remedy)
        }
    }

    @Test func `without systemd no command of it is named`() {
        let service = Self.service("", hasSystemd: false)
        #expect(service.adapted(Self.credential) == .retry("on a system where systemd starts the agent"))
        #expect(service.adapted(Self.restart) == Self.restart)
    }
}
