// SPDX-License-Identifier: MIT

import TestSupport

/// A directory for `PATH` whose `curl` is a shell script.
struct SubstituteCurl {
    private let directory: TemporaryDirectory

    var path: String { directory.path + ":/usr/bin:/bin" }

    init(_ script: String) throws {
        directory = try TemporaryDirectory()
        try directory.write("#!/bin/sh\n\(script)\n", to: "curl", mode: 0o700)
    }
}
