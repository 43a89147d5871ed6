// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@Suite struct `tokenctl fleet status` {
    @Test func `hosts have their numbers, and a member with trouble is not ok`() async throws {
        let answer = #"""
            {"name":"team","host":"build","role":"keeper","sessions":[],"hosts":[
            {"host":"build","id":"a1","role":"keeper","version":"1.0","seen_at":1,"this":true},
            {"host":"build","id":"b2","role":"reader","version":"1.0","seen_at":1}],"etcd":[
            {"endpoint":"https://etcd1:2379","works":true,"version":"3.4.23","size":2048,
            "message":"etcd has no room left","remedy":"etcdctl compact","remedy_kind":"run"},
            {"endpoint":"https://etcd2:2379","works":true,"version":"3.4.23","size":2048},
            {"endpoint":"https://etcd3:2379","works":false},
            {"endpoint":"https://etcd4:2379","works":false,"refused":true,"message":"wrong password"}]}
            """#
        let result = try await TokenctlRun(.read, .answer(answer))("fleet", "status")
        #expect(result.status == 0, "\(result)")
        let rows = result.standardOutput.split(separator: "\n").map { line in
            line.split(separator: " ").map(String.init)
        }
        #expect(rows.contains { $0.starts(with: ["HOST", "NUMBER"]) })
        #expect(rows.contains { $0.starts(with: ["build", "(this)", "a1"]) })
        #expect(rows.contains { $0.starts(with: ["build", "b2"]) })
        #expect(
            rows.compactMap { $0.first?.hasPrefix("https:") == true ? $0.dropFirst().first : nil }
                .prefix(4) == ["trouble", "ok", "away", "refused"]
        )
        #expect(result.standardOutput.contains("no room left (run: etcdctl compact)"))
    }
}
