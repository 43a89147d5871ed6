// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings
import CommandExecution
import Logging
import Synchronization
import TokenCore

/// Runs the configured hooks for every event, one after the other, in the order of the events.
final class EventHooks: EventObserving {
    /// How long a hook may take.
    private static let timeLimit = Duration.seconds(10)
    /// How many events may wait for a slow hook; beyond that the oldest are left out.
    private static let longestQueue = 64
    /// What a person at a desktop should see.
    private static let noticed: Set<EventName> = [.loginRequired, .expiring]
    /// What makes such a notice needless.
    private static let settled: Set<EventName> = [.loggedIn, .loggedOut]

    /// What is in force.
    private struct Standing {
        var hooks = HookSettings()
        /// The sessions that are made from others.
        var derived: Set<SessionName> = []

        /// Whether a session ended with the one that it is made from: what a person can see to is that one's login,
        /// which has an event of its own unless a person ended it.
        func endedWithSource(_ event: AgentEvent) -> Bool {
            event.reason == EndReason.sourceEnded.rawValue && event.session.map(derived.contains) == true
        }
    }

    private let standing = Mutex(Standing())
    private let commands: any CommandRunning
    /// `nil`: nobody sits at a desktop of this machine.
    private let desktop: DesktopSession?
    private let logger: Logger
    private let events: AsyncStream<AgentEvent>
    private let arrival: AsyncStream<AgentEvent>.Continuation

    init(commands: any CommandRunning, desktop: DesktopSession?, logger: Logger) {
        self.commands = commands
        self.desktop = desktop
        self.logger = logger
        (events, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(EventHooks.longestQueue))
    }

    /// Takes over a new configuration; hooks that run go on.
    ///
    /// - Parameters:
    ///   - hooks: what to run.
    ///   - derived: the sessions that are made from others.
    func adopt(_ hooks: HookSettings, derived: Set<SessionName>) {
        standing.withLock { $0 = Standing(hooks: hooks, derived: derived) }
    }

    func observe(_ event: AgentEvent) {
        let wanted = standing.withLock { standing in
            !standing.hooks.event.isEmpty || !standing.hooks.loginRequired.isEmpty || shows(event, standing)
                || desktop != nil && EventHooks.settled.contains(event.name)
        }
        guard wanted, case .dropped(let lost) = arrival.yield(event) else { return }
        logger.warning(
            "a hook is too slow; an event was left out",
            metadata: ["event": "\(lost.name.rawValue)"]
        )
    }

    /// Runs hooks until the process ends.
    func work() async {
        // The numbers of the notices that a desktop may still show.
        var notices: [SessionName: String] = [:]
        for await event in events {
            let standing = standing.withLock { $0 }
            if event.name == .loginRequired, !standing.endedWithSource(event) {
                await run(standing.hooks.loginRequired, for: event)
            }
            await run(standing.hooks.event, for: event)
            guard desktop != nil, let session = event.session else { continue }
            if shows(event, standing) {
                let printed = await run(DesktopNotice.command, for: event, replacing: notices[session])
                notices[session] = EventHooks.noticeNumber(printed)
            } else if EventHooks.settled.contains(event.name),
                let notice = notices.removeValue(forKey: session)
            {
                await run(DesktopNotice.command, for: event, replacing: notice)
            }
        }
    }

    /// The number of a notice, as `notify-send` prints it.
    private static func noticeNumber(_ printed: [UInt8]) -> String? {
        let digits = printed.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return (1...10).contains(digits.count) ? String(decoding: digits, as: UTF8.self) : nil
    }

    private func shows(_ event: AgentEvent, _ standing: Standing) -> Bool {
        desktop != nil && standing.hooks.isOnDesktop && EventHooks.noticed.contains(event.name)
            && !standing.endedWithSource(event)
    }

    /// - Returns: what the hook has printed.
    @discardableResult
    private func run(
        _ command: [String],
        for event: AgentEvent,
        replacing notice: String? = nil
    ) async -> [UInt8] {
        guard let name = command.first else { return [] }
        var environment = ["TOKENAGENT_EVENT": event.name.rawValue]
        environment["TOKENAGENT_SESSION"] = event.session?.description
        environment["TOKENAGENT_REASON"] = event.reason
        environment[DesktopNotice.formerNotice] = notice
        do throws(CommandFailure) {
            let result = try await commands.run(
                command,
                environment: environment,
                timeLimit: EventHooks.timeLimit
            )
            var text: Logger.Metadata = ["hook": "\(name)", "status": "\(result.status)"]
            text["error"] = result.complaint.map { "\($0)" }
            guard result.status != 0 else {
                if result.complaint != nil {
                    logger.debug("hook wrote to its standard error", metadata: text)
                }
                return result.standardOutput
            }
            logger.warning("a hook failed", metadata: text)
        } catch {
            logger.warning("a hook failed", metadata: ["reason": "\(error.message)"])
        }
        return []
    }
}
