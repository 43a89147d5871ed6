// SPDX-License-Identifier: MIT

import TestSupport
import Testing

/// A shared object that adds the seconds in a file to the clocks of the program that loads it.
struct WallClockShim {
    let directory: TemporaryDirectory
    var environment: [String: String] {
        ["LD_PRELOAD": directory.path("shim.so"), "WALL_CLOCK_FILE": directory.path("offset")]
    }

    /// Builds it; ends the test where there is no C compiler.
    init() async throws {
        directory = try TemporaryDirectory()
        let source = "\(BuiltPrograms.checkout)/Tests/WallClock/shim.c"
        let build =
            "$(command -v cc || command -v clang) -shared -fPIC -o '\(directory.path("shim.so"))' '\(source)' -ldl"
        guard Program.succeeds("PATH='\(TestEnvironment.searchPath)'; \(build)") else {
            try Test.cancel("there is no C compiler")
        }
        try directory.write(Self.padded(0, 0), to: "offset")
    }

    private static func padded(_ seconds: Int, _ bootSeconds: Int) -> String {
        let text = "\(seconds) \(bootSeconds)"
        return text + String(repeating: " ", count: 32 - text.count)
    }

    /// Moves the wall clock, and the clock that counts from the boot, by so many seconds in all.
    ///
    /// It writes over the numbers, since a mapped file must not become shorter.
    func set(_ seconds: Int, sinceBoot bootSeconds: Int = 0) throws {
        let script = "printf '%s' '\(Self.padded(seconds, bootSeconds))' 1<>'\(directory.path("offset"))'"
        try #require(Program.succeeds(script))
    }
}
