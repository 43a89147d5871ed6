// SPDX-License-Identifier: MIT

/// Finds the moments at which an agent that worked has come to rest.
///
/// Answers from memory are no work: an agent that only serves good tokens rests.
struct Quiet {
    /// How much work there had been at the last look.
    private var jobsSeen = 0
    private var wasTold = false

    /// Looks now, `jobs` being all the work there ever was; true once for each rest.
    ///
    /// Nothing may have begun since the look before, and nothing be under way.
    mutating func begins(jobs: Int, underWay: Int) -> Bool {
        defer { jobsSeen = jobs }
        guard jobs == jobsSeen, underWay == 0 else {
            wasTold = false
            return false
        }
        defer { wasTold = true }
        return !wasTold
    }
}
