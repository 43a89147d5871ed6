// SPDX-License-Identifier: MIT

extension FleetFigures {
    /// The figures, one per line.
    package var lines: [String] {
        [
            "requests per expiry  \(requestsPerExpiry.fixed(3)) (\(totals.requests) for \(totals.expiries), \(totals.early) early)",
            "lost logins          \(totals.lostLogins)",
            "reads/s              \(reads.text)",
            "writes/s             \(writes.text)",
            "watch responses/s    \(responses.text)",
            "watch bytes/s        \(bytes.text)",
            "busy cores           \(busyCores.fixed(3))",
            "commit to a host     \(publish.text)",
            "commit to last host  \(lastHost.text)",
            "refresh              \(refresh.text)",
            "wait for a core      \(queue.text)",
            "without a token      \(without.text)",
            "logins to etcd       \(totals.authentications), connections \(totals.connections), given up \(totals.timeouts)",
            "leases               \(totals.leases), lost races \(totals.lostRaces)",
            "got over it after    \(recovery.map { "\($0.fixed(1)) s" } ?? "-")",
            "events               \(totals.events)",
        ]
    }

    /// The figures as a row of a Markdown table, whose head is ``head``.
    package var row: String {
        let cells = [
            requestsPerExpiry.fixed(3), reads.short, writes.short, responses.short, bytes.megabytes,
            busyCores.fixed(2), lastHost.short, refresh.short, queue.short, "\(totals.timeouts)",
            recovery.map { $0.fixed(0) } ?? "–",
        ]
        return cells.joined(separator: " | ") + " |"
    }

    package static let head =
        "requests per expiry | reads/s mean, peak | writes/s mean, peak | responses/s mean, peak | MB/s mean, peak "
        + "| busy cores | last host p50, max | refresh p50, max | wait p99, max | given up | over after s |"
}

extension Rate {
    var text: String { "mean \(mean.fixed(3)), p99 \(p99), peak \(peak)" }
    var short: String { "\(mean.fixed(mean < 10 ? 2 : 0)), \(peak)" }
    var megabytes: String { "\((mean / 1e6).fixed(3)), \((Double(peak) / 1e6).fixed(1))" }
}

extension FleetFigures.Durations {
    var text: String {
        "p50 \(median.fixed(4)), p99 \(p99.fixed(4)), longest \(longest.fixed(4)) s (\(count))"
    }

    var short: String {
        self.count == 0 ? "–" : "\(median.fixed(2)), \(longest.fixed(2))"
    }
}

extension Double {
    /// Returns the number with `digits` after the decimal point.
    func fixed(_ digits: Int) -> String {
        let scale = (0..<digits).reduce(1) { product, _ in product * 10 }
        let scaled = Int((self * Double(scale)).rounded())
        guard digits > 0 else { return "\(scaled)" }
        let fraction = String(abs(scaled) % scale)
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(scaled / scale).\(zeros)\(fraction)"
    }
}
