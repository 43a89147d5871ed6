// SPDX-License-Identifier: MIT

import AgentProtocol
import Testing
import Text

@testable import AgentServer

@Suite struct AgentServiceTests {
    private static let unit = SystemdUnit("tokenagent@build.service", isOfUser: false)

    private static func service(_ variables: [String: String], unit: SystemdUnit? = unit) -> AgentService {
        AgentService(unit: unit, process: 7, environment: variables)
    }

    @Test(arguments: [
        ["NOTIFY_SOCKET": "/run/systemd/notify"], ["LISTEN_PID": "7"], ["SYSTEMD_EXEC_PID": "7"],
    ])
    func `an agent that is a unit is restarted by the manager of the unit`(variables: [String: String]) {
        #expect(Self.service(variables).restart == "systemctl restart tokenagent@build")
        let own = SystemdUnit("tokenagent.service", isOfUser: true)
        #expect(Self.service(variables, unit: own).restart == "systemctl --user restart tokenagent")
        #expect(Self.service(variables, unit: nil).restart == nil)
    }

    @Test(arguments: [[:], ["LISTEN_PID": "6"], ["SYSTEMD_EXEC_PID": "6"]])
    func `an agent that a job of a unit has started is not that unit`(variables: [String: String]) {
        let job = Self.service(variables, unit: SystemdUnit("cron.service", isOfUser: false))
        #expect(job.restart == nil)
        let text = "x (run: tokenctl shutdown && tokenagent)"
        #expect(job.adapted(text) == text && job.adapted(json: Array(text.utf8)) == Array(text.utf8))
    }

    @Test(arguments: [
        ("tokenctl shutdown && tokenagent", "RESTART"),
        (
            "a (set: x, then run tokenctl shutdown && systemctl --user start tokenagent)",
            "a (set: x, then run RESTART)"
        ),
        (
            "tokenctl shutdown && tokenagent && tokenctl shutdown && tokenagent && true",
            "RESTART && RESTART && true"
        ),
        ("tokenctl shutdown && tokenctl login w", "tokenctl shutdown && tokenctl login w"),
        ("shutdown && tokenagent", "shutdown && tokenagent"),
        ("tokenctl shutdown &", "tokenctl shutdown &"), ("é & ü", "é & ü"), ("", ""),
    ])
    func `only commands that restart any agent are replaced`(text: String, adapted: String) {
        let service = Self.service(["LISTEN_PID": "7"])
        let restart = "systemctl restart tokenagent@build"
        #expect(
            service.adapted(text)
                == adapted.split(separator: "RESTART", omittingEmptySubsequences: false).joined(
                    separator: restart
                )
        )
    }

    @Test func `the command is escaped in JSON`() throws {
        let unit = SystemdUnit(#"a\x2db.service"#, isOfUser: false)
        let service = Self.service(["LISTEN_PID": "7"], unit: unit)
        #expect(service.restart == #"systemctl restart 'a\x2db'"#)
        let json: JSONValue = ["remedy": "tokenctl shutdown && tokenagent"]
        let adapted = try JSONValue(parsing: service.adapted(json: Array(json.text.utf8)))
        #expect(adapted.object?["remedy"]?.string == service.restart)
    }
}
