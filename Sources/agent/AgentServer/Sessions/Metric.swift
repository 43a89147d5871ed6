// SPDX-License-Identifier: MIT

import TokenCore

/// The counters of a session since the agent started, for the metrics.
struct SessionCounters: Equatable, Sendable {
    /// The number of requests that got a token.
    var served = 0
    /// The number of requests that got an error, by its code.
    var refused: [String: Int] = [:]
    /// The number of requests that waited for a refresh begun by another request.
    var coalesced = 0
    /// The number of successful refreshes, by their reason.
    var refreshes: [RefreshReason: Int] = [:]
    /// The number of failed refreshes, by their reason.
    var failedRefreshes: [RefreshReason: Int] = [:]
    /// The number of failed refreshes, by their failure class.
    var failures: [FailureClass: Int] = [:]
}

/// The data from which the metrics are made, at one moment.
struct MetricsInput {
    /// The generation of a session that several hosts share.
    struct SharedGeneration {
        var session: String
        var generation: UInt64
    }

    let moment: Moment
    let startedAt: Instant
    let isServing: Bool
    let waitingRequests: Int
    let logins: Int
    /// The sessions that the requester may see.
    let sessions: [SessionEntry]
    /// Whether the fleet's store is reachable, or `nil` if this host is in no fleet.
    let isFleetUp: Bool?
    let generations: [SharedGeneration]
}

/// A metric of `GET /v1/metrics`, with its samples.
struct Metric: Sendable {
    enum Kind: String {
        case counter, gauge
    }

    struct Sample {
        var labels: [(name: String, value: String)] = []
        var value: Int64
    }

    let name: String
    let kind: Kind
    let help: String
    let samples: @Sendable (MetricsInput) -> [Sample]
    /// Whether only hosts of a fleet have this metric.
    let isOfFleet: Bool

    /// Creates a metric of the agent as a whole.
    private init(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        isOfFleet: Bool = false,
        value: @escaping @Sendable (MetricsInput) -> Int64
    ) {
        self.init(name, kind, help, isOfFleet: isOfFleet, samples: { [Sample(value: value($0))] })
    }

    /// Creates a metric of every session.
    private init(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        ofEach samples: @escaping @Sendable (SessionEntry, SessionStatus, Moment) -> [Sample]
    ) {
        self.init(name, kind, help) { input in
            input.sessions.flatMap { entry in
                let status = entry.session.status
                return samples(entry, status, input.moment).map { sample in
                    var sample = sample
                    sample.labels.insert(("session", status.name.description), at: 0)
                    return sample
                }
            }
        }
    }

    private init(
        _ name: String,
        _ kind: Kind,
        _ help: String,
        isOfFleet: Bool = false,
        samples: @escaping @Sendable (MetricsInput) -> [Sample]
    ) {
        self.name = "tokenagent_" + name
        self.kind = kind
        self.help = help
        self.isOfFleet = isOfFleet
        self.samples = samples
    }

    static let all: [Metric] = [
        Metric("uptime_seconds", .gauge, "Seconds since the agent started.") {
            ($0.moment.now - $0.startedAt).wholeSeconds
        },
        Metric("locked", .gauge, "1 while the store is locked.") { $0.isServing ? 0 : 1 },
        Metric("waiting_requests", .gauge, "Token requests that wait for a refresh.") {
            Int64($0.waitingRequests)
        },
        Metric("logins_in_progress", .gauge, "Interactive logins in progress.") { Int64($0.logins) },
        Metric("gets_total", .counter, "Token requests by result.") { entry, _, _ in
            [Sample(labels: [("result", "ok")], value: Int64(entry.counts.served))]
                + entry.counts.refused.sorted { $0.key < $1.key }
                .map { Sample(labels: [("result", $0.key)], value: Int64($0.value)) }
        },
        Metric("coalesced_total", .counter, "Token requests that shared a refresh in flight.") {
            entry,
            _,
            _ in
            [Sample(value: Int64(entry.counts.coalesced))]
        },
        Metric("refreshes_total", .counter, "Refresh attempts by result and reason.") { entry, _, _ in
            [("ok", entry.counts.refreshes), ("failed", entry.counts.failedRefreshes)].flatMap {
                result,
                counts in
                counts.sorted { $0.key.rawValue < $1.key.rawValue }.map {
                    Sample(labels: [("result", result), ("reason", $0.key.rawValue)], value: Int64($0.value))
                }
            }
        },
        Metric("refresh_failures_total", .counter, "Failed refresh attempts by class.") { entry, _, _ in
            entry.counts.failures.sorted { $0.key.rawValue < $1.key.rawValue }
                .map { Sample(labels: [("class", $0.key.rawValue)], value: Int64($0.value)) }
        },
        Metric("waiters", .gauge, "Token requests that wait for a refresh, by session.") { _, status, _ in
            [Sample(value: Int64(status.waiters))]
        },
        Metric("session_state", .gauge, "1 for the state the session is in.") { _, status, _ in
            SessionStatus.State.allCases.map {
                Sample(labels: [("state", $0.rawValue)], value: $0 == status.state ? 1 : 0)
            }
        },
        Metric("token_expires_in_seconds", .gauge, "Remaining validity of the access token.") {
            _,
            status,
            moment in
            status.tokenExpiresAt.map { [Sample(value: max(0, ($0 - moment.now).wholeSeconds))] } ?? []
        },
        Metric("session_age_seconds", .gauge, "Seconds since the login.") { _, status, moment in
            status.loggedInAt.map { [Sample(value: max(0, (moment.now - $0).wholeSeconds))] } ?? []
        },
        Metric("fleet_up", .gauge, "1 while the fleet's etcd is reachable.", isOfFleet: true) {
            $0.isFleetUp == true ? 1 : 0
        },
        Metric(
            "fleet_generation",
            .gauge,
            "Refreshes of a shared session since its login.",
            isOfFleet: true,
            samples: { input in
                input.generations.map {
                    Sample(labels: [("session", $0.session)], value: Int64(clamping: $0.generation))
                }
            }
        ),
    ]

    /// Returns the metrics in the Prometheus text exposition format, version 0.0.4.
    ///
    /// Label values are session names and constants, so none needs an escape.
    static func text(of input: MetricsInput) -> String {
        all.filter { !$0.isOfFleet || input.isFleetUp != nil }.reduce(into: "") { text, metric in
            text += "# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) \(metric.kind.rawValue)\n"
            for sample in metric.samples(input) {
                let labels = sample.labels.map { "\($0.name)=\"\($0.value)\"" }.joined(separator: ",")
                text += metric.name + (labels.isEmpty ? "" : "{\(labels)}") + " \(sample.value)\n"
            }
        }
    }
}
