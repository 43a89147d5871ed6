// SPDX-License-Identifier: MIT

import DemoIssuer
import StrictJSON
import TestSupport
import Testing

/// A shared object that adds the seconds in a file to the wall clock of the program that loads it.
private struct WallClockShim {
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <fcntl.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        // Mapped before the program drops variables, descriptors and rights.
        static const char *text;
        __attribute__((constructor)) static void map(void) {
            const char *path = getenv("WALLSHIM_FILE");
            int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            void *found = file < 0 ? MAP_FAILED : mmap(0, 32, PROT_READ, MAP_SHARED, file, 0);
            if (found != MAP_FAILED) text = found;
            if (file >= 0) close(file);
        }
        static long offset(void) { return text ? atol(text) : 0; }
        int clock_gettime(clockid_t clock, struct timespec *time) {
            static int (*real)(clockid_t, struct timespec *);
            if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
            int code = real(clock, time);
            if (!code && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += offset();
            return code;
        }
        time_t time(time_t *out) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (out) *out = now.tv_sec;
            return now.tv_sec;
        }
        int gettimeofday(struct timeval *time, void *zone) {
            struct timespec now;
            (void)zone;
            clock_gettime(CLOCK_REALTIME, &now);
            time->tv_sec = now.tv_sec;
            time->tv_usec = now.tv_nsec / 1000;
            return 0;
        }
        """

    let directory: TemporaryDirectory
    var environment: [String: String] {
        ["LD_PRELOAD": directory.path("shim.so"), "WALLSHIM_FILE": directory.path("offset")]
    }

    /// Builds it; ends the test where there is no C compiler.
    init() async throws {
        directory = try TemporaryDirectory()
        let source = try directory.write(Self.source, to: "shim.c")
        let build =
            "$(command -v cc || command -v clang) -shared -fPIC -o '\(directory.path("shim.so"))' '\(source)' -ldl"
        guard Program.succeeds("PATH='\(TestEnvironment.searchPath)'; \(build)") else {
            try Test.cancel("there is no C compiler")
        }
        try directory.write(Self.padded(0), to: "offset")
    }

    private static func padded(_ seconds: Int) -> String {
        "\(seconds)" + String(repeating: " ", count: 32 - "\(seconds)".count)
    }

    /// Writes over the number, since a mapped file must not become shorter.
    func set(_ seconds: Int) throws {
        let script = "printf '%s' '\(Self.padded(seconds))' 1<>'\(directory.path("offset"))'"
        try #require(Program.succeeds(script))
    }
}

extension EndToEnd {
    @Suite struct ClockTests {
        @Test func `a step of the wall clock brings no refresh and changes only what is shown`() async throws
        {
            let shim = try await WallClockShim()
            let scene = try await Scene()
            try await scene.agent.start(extraEnvironment: shim.environment)
            try await scene.logIn()
            let token = try await scene.token()
            let shown = try #require(try await scene.agent.status("work")["expires_at"]?.integer)
            try shim.set(300)
            guard try await scene.agent.status("work")["expires_at"]?.integer != shown else {
                try Test.cancel("the agent loads no foreign library")
            }
            for step in [86_400, -86_400, 300, -300] {
                try shim.set(step)
                #expect(try await scene.token() == token)
                let status = try await scene.agent.status("work")
                #expect(status["state"] == "ready")
                let moved = try #require(status["expires_at"]?.integer) - shown
                #expect(abs(moved - Int64(step)) <= 2)
            }
            #expect(scene.refreshes == 0)
            // And in the middle of a refresh.
            scene.issuer.queue(Disturbance(isHeld: true))
            let refresh = try scene.agent.startTokenctl(["refresh", "work"])
            #expect(await scene.issuer.hasReceived(2, to: "/token", within: .seconds(20)))
            try shim.set(-86_400)
            scene.issuer.release()
            #expect(try await refresh.finish().status == 0)
            #expect(try await scene.token() != token)
            #expect(scene.refreshes == 1)
            Attachment.record("4 steps of up to a day, 0 refreshes", named: "figure")
        }

        @Test(.enabled(if: TestUser.isRoot, "only root reads the timers of an undumpable process"))
        func `an agent whose next refresh is two months away looks at the clock all the same`() async throws {
            let scene = try await Scene.loggedIn { $0.accessLifetime = .seconds(60 * 24 * 3600) }
            let pid = try #require(scene.agent.agent?.pid)
            let timers = try await Polling.value { () -> [Int]? in
                let found = armedTimers(pid)
                return found.isEmpty ? nil : found
            }
            let soonest = try #require(timers?.min())
            #expect(soonest <= 30)
            #expect((timers ?? []).allSatisfy { $0 <= 3600 })
            Attachment.record("the next look at the clock within \(soonest + 1) s", named: "figure")
        }

        /// Seconds until each timer of the process goes off.
        private func armedTimers(_ pid: Int32) -> [Int] {
            let directory = "/proc/\(pid)/fdinfo"
            return File.names(in: directory).compactMap { File.text("\(directory)/\($0)") }.compactMap {
                text in
                let line = text.split(separator: "\n").first { $0.hasPrefix("it_value: (") }
                let seconds = line?.dropFirst("it_value: (".count).prefix { $0 != "," }
                guard let line, !line.hasSuffix("(0, 0)") else { return nil }
                return seconds.flatMap { Int($0) }
            }
        }
    }
}
