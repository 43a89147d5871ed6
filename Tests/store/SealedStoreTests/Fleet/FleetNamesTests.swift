// SPDX-License-Identifier: MIT

import TestSupport
import Testing
import TokenCore

@testable import SealedStore

struct FleetNamesTests {
    let keys: FleetKeys
    let names: FleetNames

    init() throws {
        keys = try FleetKeys.random(label: "production")
        names = FleetNames(keys)
    }

    static let kinds: [FleetEtcdKey.Kind] = [
        .record, .access, .intent, .lock, .want, .late(.example, parent: 0, .example),
        .late(Lineage(number: .max, id: .max), parent: .max, AttemptID(host: .max, random: 0)),
        .late(Lineage(number: 0, id: 0), parent: 0, .lost),
    ]

    func text(_ kind: FleetEtcdKey.Kind, of session: SessionName = .work) -> String {
        String(decoding: names.bytes(of: FleetEtcdKey(kind, of: names.name(of: session))), as: UTF8.self)
    }

    @Test(arguments: kinds)
    func `a name is read back as what it says`(kind: FleetEtcdKey.Kind) {
        let key = FleetEtcdKey(kind, of: names.name(of: .work))
        #expect(names.key(named: names.bytes(of: key)) == key)
    }

    @Test func `names have the form that they should`() throws {
        let digits = "[0-9a-f]{32}"
        let late =
            "late/000000000000000300112233445566778899aabbccddeeff/00000000000000ff/"
            + "00000000000000a100000000000000b2"
        for (kind, end) in [
            (FleetEtcdKey.Kind.record, "rt"), (.access, "at"), (.intent, "intent"), (.lock, "lock"),
            (.want, "want"),
            (
                .late(.example, parent: 255, .example),
                late
            ),
        ] {
            let form = try Regex("/tokenagent/\(digits)/s/\(digits)/\(end)")
            #expect(text(kind).wholeMatch(of: form) != nil)
        }
    }

    @Test(.holds("265")) func `neither the session nor the fleet shows in a name`() throws {
        let session = SessionName.named("canary")
        let all = text(.record, of: session)
        for word in ["canary", "production", keys.fleet.description] { #expect(!all.contains(word)) }
    }

    @Test func `names differ by session and fleet, and not by role or epoch`() throws {
        let record = text(.record)
        #expect(record != text(.record, of: .home))
        #expect(
            FleetNames(try FleetKeys.random(label: "production")).name(of: .work) != names.name(of: .work)
        )
        for keys in [try keys.forReaders(), try keys.renewed(keeping: 0)] {
            let names = FleetNames(keys)
            #expect(names.prefix == self.names.prefix && names.name(of: .work) == self.names.name(of: .work))
        }
    }

    @Test func `ranges hold what they should and nothing else`() {
        let work = names.name(of: .work)
        let mine = FleetNamesTests.kinds.map { names.bytes(of: FleetEtcdKey($0, of: work)) }
        let other = names.bytes(of: FleetEtcdKey(.record, of: names.name(of: .home)))
        let lateResults = [UInt64(6), 7, 8].map { parent in
            names.bytes(of: FleetEtcdKey(.late(.example, parent: parent, .other), of: work))
        }
        func holds(_ range: FleetRange, _ key: [UInt8]) -> Bool {
            !key.lexicographicallyPrecedes(range.start) && key.lexicographicallyPrecedes(range.end)
        }
        #expect((mine + lateResults + [other]).allSatisfy { holds(names.all, $0) })
        #expect((mine + lateResults).allSatisfy { holds(names.all(of: work), $0) })
        #expect(!holds(names.all(of: work), other))
        #expect(
            mine.map { holds(names.lateResults(of: work), $0) } == [
                false, false, false, false, false, true, true, true,
            ]
        )
        #expect(
            lateResults.map { holds(names.lateResults(of: work, .example, parent: 7), $0) } == [
                false, true, false,
            ]
        )
        #expect(!holds(names.all, Array("/tokenagent/".utf8)) && !holds(names.all, names.prefix))
    }

    @Test func `what is none of this fleet's names is refused`() throws {
        let good = text(.late(.example, parent: 10, .example))
        let prefix = String(decoding: names.prefix, as: UTF8.self)
        let name = names.name(of: .work).code.description
        let foreign = FleetNames(try FleetKeys.random(label: "x"))
        var hostile = [
            "", "/", "/tokenagent/", prefix, "\(prefix)s", "\(prefix)s/", "\(prefix)s/\(name)",
            "\(prefix)s/\(name)/", "\(prefix)s/\(name)/rt/", "\(prefix)s/\(name)/RT",
            "\(prefix)s/\(name)//rt",
            "\(prefix)s/\(name.uppercased())/rt", "\(prefix)s/\(name)0/rt",
            "\(prefix)s/\(name.dropLast())/rt",
            "\(prefix)t/\(name)/rt", "\(prefix)s/\(name)/late", "\(prefix)s/\(name)/late/",
            "\(prefix)s/\(name)/late/\(name)/\(name)", "\(prefix)s/\(name)/late/3/7/\(name)",
            good.replacing("/000000000000000a/", with: "/+00000000000000a/"),
            good.replacing("/000000000000000a/", with: "/000000000000000g/"),
            good.replacing("/000000000000000a/", with: "/a/"), good.replacing("/late/0", with: "/late/+"),
            good.replacing("/late/", with: "/late/0"), good.replacing("/late/0", with: "/late/"),
            "\(prefix)s/\(name)/kept/\(name)",
            "\(prefix)s/\(name)/meta", String(good.dropLast()), good + "0", good + "/", " " + good,
            good.replacing("late", with: "LATE"), good.replacing("a", with: "A"),
            "\(prefix)s/" + String(repeating: "0", count: 100_000),
        ]
        hostile.append(
            String(
                decoding: foreign.bytes(of: FleetEtcdKey(.record, of: names.name(of: .work))),
                as: UTF8.self
            )
        )
        #expect(names.key(named: Array(good.utf8)) != nil)
        for text in hostile {
            #expect(names.key(named: Array(text.utf8)) == nil, "\(text.prefix(120))")
        }
        #expect(names.key(named: Array(good.utf8.dropLast()) + [0xFF]) == nil)
        #expect(
            names.key(named: names.bytes(of: FleetEtcdKey(.kept(.example), of: names.name(of: .work)))) == nil
        )
    }

    /// Checks values that every host must derive identically, in all versions.
    @Test func `names, marks and identities stay as they are`() throws {
        let keys = try Vector.fleetKeys()
        let host = try FleetHost(keys, .fleet)
        let name = host.records.names.bytes(of: host.key(.record))
        let path = "/tokenagent/63a42bc51ad6bc4ab43ac9ba1dbfdd36/s/e122070aa1746132d7f92c4a10b1e757/rt"
        #expect(String(decoding: name, as: UTF8.self) == path)
        #expect(try host.records.mark(of: try host.secret("RT-1", .refreshToken)) == 0xEC03_1176_AB1E_9F1A)
        #expect(keys.host(of: Vector.vault) == 0x038A_6E07_438F_0493)
    }
}
