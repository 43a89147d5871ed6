// SPDX-License-Identifier: MIT

/// Takes away what the agent does not need once it has started, so that a flaw in it is worth little.
///
/// The process must have refused new privileges. A protection the kernel lacks is reported, not required.
package enum Confinement {
    /// Confines the calling thread and all threads it starts later, for good.
    ///
    /// Call it before there are other threads: file rules do not reach a thread that already runs. The filter
    /// of system calls holds for every thread.
    package static func enter(_ files: FileRules) -> ConfinementReport {
        var report = ConfinementReport()
        do throws(ConfinementGap) { try files.enforce() } catch { report.gaps.append(error) }
        do throws(ConfinementGap) { try SystemCallFilter.install() } catch { report.gaps.append(error) }
        return report
    }
}

/// What is in force after ``Confinement/enter(_:)``.
package struct ConfinementReport: Equatable, Sendable {
    /// The protections that are not in force; empty if all are.
    package var gaps: [ConfinementGap] = []

    package init() {}
}

/// A protection that is not in force, and why.
package struct ConfinementGap: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Protection: String, Sendable {
        case files = "files outside the agent's own are not closed off (Landlock)"
        case systemCalls = "system calls are not filtered (seccomp)"
    }

    package let protection: Protection
    /// The system's error message.
    package let reason: String

    package var description: String { "\(protection.rawValue): \(reason)" }
}
