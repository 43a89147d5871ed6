// SPDX-License-Identifier: MIT

/// The sandbox of the agent: Landlock for files and seccomp for system calls.
///
/// It takes away what the agent does not need after its start, so that an exploited flaw gains little.
///
/// - Entry points: ``enter(_:)``, ``FileRules``, ``SystemCallFilter``.
/// - Requires: `no_new_privs` must already be set for the process.
/// - May not: stop the start. A protection that the kernel lacks is reported as a ``ConfinementGap``.
package enum Confinement {
    /// Sandboxes the calling thread and all threads it starts later, permanently.
    ///
    /// Call this before the process starts threads: file rules do not apply to threads that already run. The
    /// system call filter applies to all threads.
    package static func enter(_ files: FileRules) -> ConfinementReport {
        var report = ConfinementReport()
        do throws(ConfinementGap) { try files.enforce() } catch { report.gaps.append(error) }
        do throws(ConfinementGap) { try SystemCallFilter.install() } catch { report.gaps.append(error) }
        return report
    }
}

/// The result of ``Confinement/enter(_:)``.
package struct ConfinementReport: Equatable, Sendable {
    /// The protections that could not be enabled; empty if all are active.
    package var gaps: [ConfinementGap] = []

    package init() {}
}

/// A protection that is not active, with the reason.
package struct ConfinementGap: Error, Equatable, Sendable, CustomStringConvertible {
    /// A protection of the sandbox; the raw value describes its absence.
    package enum Protection: String, Sendable {
        case files = "Landlock inactive"
        case systemCalls = "seccomp inactive"
    }

    package let protection: Protection
    /// The system's error message.
    package let reason: String

    package var description: String { "\(protection.rawValue): \(reason)" }
}
