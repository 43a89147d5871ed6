// SPDX-License-Identifier: MIT

/// The results of a simulation.
///
/// Times are in seconds.
package struct FleetFigures: Equatable, Sendable {
    /// The sums over the whole run.
    package struct Totals: Equatable, Sendable {
        package var expiries: Int
        package var requests: Int
        package var early: Int
        package var lostLogins: Int
        package var timeouts: Int
        package var authentications: Int
        package var connections: Int
        package var leases: Int
        package var lostRaces: Int
        package var events: Int
    }

    /// The distribution of durations of one kind.
    package struct Durations: Equatable, Sendable {
        package var count: Int
        package var median: Double
        package var p99: Double
        package var longest: Double
    }

    package var totals: Totals
    package var reads: Rate
    package var writes: Rate
    package var responses: Rate
    package var bytes: Rate
    package var publish: Durations
    package var lastHost: Durations
    package var refresh: Durations
    package var queue: Durations
    package var without: Durations
    /// The average number of busy cores of all etcd clusters together.
    package var busyCores: Double
    /// The time from the last failure to the recovery of every host, or `nil` without failures or recovery.
    package var recovery: Double?

    /// The number of refresh tokens sent per due token, which is 1 if each was sent once and not too early.
    package var requestsPerExpiry: Double {
        totals.expiries == 0 ? 0 : Double(totals.requests) / Double(totals.expiries)
    }

    /// Simulates `plan` in `scenario`.
    package init(_ plan: FleetPlan, _ scenario: Scenario) {
        var fleet = SimulatedFleet(plan, isWave: scenario == .wave)
        fleet.prepare(scenario)
        let window = scenario.window(lifetime: plan.lifetime)
        fleet.run(until: Int64(window.upperBound) * Course.second)
        self.init(fleet, window)
    }

    private init(_ fleet: SimulatedFleet, _ window: Range<Int>) {
        let meter = fleet.course.meter
        totals = Totals(
            expiries: meter.total(.expiries),
            requests: meter.total(.requests),
            early: meter.total(.early),
            lostLogins: meter.total(.lostLogins),
            timeouts: meter.total(.timeouts),
            authentications: meter.total(.authentications),
            connections: meter.total(.connections),
            leases: meter.total(.leases),
            lostRaces: meter.total(.lostRaces),
            events: fleet.course.agenda.count
        )
        reads = meter.rate(.reads, window)
        writes = meter.rate(.writes, window)
        responses = meter.rate(.responses, window)
        bytes = meter.rate(.bytes, window)
        publish = Durations(meter.span(.publish))
        lastHost = Durations(meter.span(.lastHost))
        refresh = Durations(meter.span(.refresh))
        queue = Durations(meter.span(.queue))
        without = Durations(meter.span(.without))
        let used = fleet.etcd.etcds.reduce(0) { $0 + $1.used }
        busyCores = Double(used) / Double(Int64(window.upperBound) * Course.second)
        recovery = fleet.troubles.quietAt.flatMap { quietAt in
            fleet.troubles.endedAt.map { Double(quietAt - $0) / 1e9 }
        }
    }
}

extension FleetFigures.Durations {
    init(_ histogram: Histogram) {
        self.init(
            count: histogram.count,
            median: histogram.quantile(0.5),
            p99: histogram.quantile(0.99),
            longest: histogram.maximumSeconds
        )
    }
}
