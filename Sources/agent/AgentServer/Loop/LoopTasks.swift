// SPDX-License-Identifier: MIT

/// An actor whose executor is the agent's event loop.
actor LoopIsolation {
    nonisolated private let executor: any SerialExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    init(_ executor: any SerialExecutor) { self.executor = executor }

    fileprivate func run<Part, Value: Sendable, Failure>(
        _ bound: LoopConfined<Part>,
        _ body: @Sendable (Part, isolated LoopIsolation) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await body(unsafe bound.part, self)
    }
}

/// A part that is confined to the event loop, for callers elsewhere.
struct LoopConfined<Part>: Sendable {
    fileprivate nonisolated(unsafe) let part: Part
    private let loop: LoopIsolation

    fileprivate init(_ part: Part, to loop: LoopIsolation) {
        unsafe self.part = part
        self.loop = loop
    }

    /// Runs `body` with the part, on the event loop.
    func run<Value: Sendable, Failure>(
        _ body: @Sendable (Part, isolated LoopIsolation) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await loop.run(self, body)
    }
}

/// Starts tasks on the agent's event loop, for parts that are confined to it.
struct LoopTasks {
    private let loop: LoopIsolation

    /// Creates the starter of tasks on `executor`, which is the event loop.
    init(on executor: any SerialExecutor) {
        loop = LoopIsolation(executor)
    }

    /// Returns `part` for callers that are not on the event loop.
    func bound<Part>(_ part: Part) -> LoopConfined<Part> { LoopConfined(part, to: loop) }

    /// Starts a task that runs `body` on the event loop, from a later turn on.
    ///
    /// A closure with a capture list would run elsewhere (a fault of Swift 6.3); Scripts/check-sources finds it.
    ///
    /// - Precondition: The caller is on the event loop.
    @discardableResult
    func start(_ body: @escaping () async -> Void) -> Task<Void, Never> {
        // Safe because the closure neither leaves the loop now nor when the task runs it.
        nonisolated(unsafe) let body = body
        return loop.assumeIsolated { loop in
            Task {
                _ = loop
                await unsafe body()
            }
        }
    }
}
