// SPDX-License-Identifier: MIT

import FleetSimulation
import TestSupport
import Testing

@Suite struct FleetSimulationTests {
    private static func plan(_ conduct: FleetPlan.Conduct) -> FleetPlan {
        var plan = FleetPlan()
        plan.hosts = 40
        plan.sessions = 4
        plan.conduct = conduct
        return plan
    }

    @Test(.holds("260")) func `a calm fleet sends each refresh token once`() {
        let figures = FleetFigures(FleetSimulationTests.plan(.present), .calm)
        #expect(figures.totals.expiries >= 8)
        #expect(figures.requestsPerExpiry == 1)
        #expect(figures.without.count == 0)
    }

    @Test func `the same seed brings the same figures, another one others`() {
        var plan = FleetSimulationTests.plan(.present)
        let figures = FleetFigures(plan, .calm)
        #expect(FleetFigures(plan, .calm) == figures)
        plan.seed = 2
        #expect(FleetFigures(plan, .calm) != figures)
    }

    @Test(.holds("260"), arguments: [Scenario.wave, .hosts, .etcd, .partition])
    func `no trouble makes a fleet send a refresh token twice`(_ scenario: Scenario) {
        for conduct in [FleetPlan.Conduct.present, .proposed] {
            let figures = FleetFigures(FleetSimulationTests.plan(conduct), scenario)
            #expect(figures.totals.expiries > 0)
            #expect(figures.requestsPerExpiry == 1)
        }
    }

    @Test func `a keeper that is lost with its answer costs one request more`() {
        let figures = FleetFigures(FleetSimulationTests.plan(.present), .keeper)
        #expect(figures.totals.requests == figures.totals.expiries + 1)
    }

    @Test func `a record in a watch response spares the ranges`() {
        let present = FleetFigures(FleetSimulationTests.plan(.present), .calm)
        let proposed = FleetFigures(FleetSimulationTests.plan(.proposed), .calm)
        #expect(proposed.requestsPerExpiry == 1)
        #expect(proposed.reads.mean * 10 < present.reads.mean)
    }

    @Test(.holds("263"), arguments: [1, 4, 7, 12, 25] as [Int64])
    func `a server with a grace loses no login by answering late`(seconds: Int64) {
        var plan = FleetSimulationTests.plan(.present)
        plan.grace = 10
        plan.responseTime = seconds * 1_000_000_000
        let figures = FleetFigures(plan, .calm)
        #expect(figures.totals.expiries >= 8)
        #expect(figures.totals.lostLogins == 0)
        // A host asks again while it can, as the answer may be lost.
        #expect(figures.totals.requests <= 2 * figures.totals.expiries)
        #expect((figures.totals.requests == figures.totals.expiries) == (seconds < 5))
        #expect(figures.without.count == 0)
    }

    @Test func `a slow etcd keeps no session with a grace from being refreshed`() {
        var plan = FleetSimulationTests.plan(.present)
        plan.hosts = 4
        plan.sessions = 1
        plan.grace = 10
        plan.costs.logBatch += 800_000_000
        let figures = FleetFigures(plan, .calm)
        #expect(figures.totals.expiries >= 1)
        #expect(figures.requestsPerExpiry == 1)
        #expect(figures.totals.lostLogins == 0)
        #expect(figures.without.count == 0)
    }
}
