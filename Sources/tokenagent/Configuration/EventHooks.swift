// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings
import CommandExecution
import Logging
import Synchronization
import Text
import TokenCore

/// The configured hooks, which run for every event one after the other, in the order of the events.
final class EventHooks: EventObserving {
    /// The time limit of a hook: 10 seconds.
    private static let timeLimit = Duration.seconds(10)
    /// The maximum number of events that wait for a slow hook.
    ///
    /// Beyond it the oldest are dropped.
    private static let maximumQueue = 64
    /// The events that are shown to the user of a desktop.
    private static let noticed: Set<EventName> = [.loginRequired, .expiring]
    /// The events that make such a notice obsolete.
    private static let settled: Set<EventName> = [.loggedIn, .loggedOut]

    /// The active settings.
    private struct ActiveSettings {
        var hooks = HookSettings()
        /// The sessions that are derived from others.
        var derived: Set<SessionName> = []

        /// Returns whether a session ended with its source.
        ///
        /// The user can only log in to the source, which has an event of its own unless the user ended it.
        func endedWithSource(_ event: AgentEvent) -> Bool {
            event.reason == EndReason.sourceEnded.rawValue && event.session.map(derived.contains) == true
        }
    }

    private let standing = Mutex(ActiveSettings())
    private let commands: any CommandRunning
    /// The desktop, or `nil` if the user has none on this machine.
    private let desktop: DesktopSession?
    private let logger: Logger
    private let events: AsyncStream<AgentEvent>
    private let arrival: AsyncStream<AgentEvent>.Continuation

    init(commands: any CommandRunning, desktop: DesktopSession?, logger: Logger) {
        self.commands = commands
        self.desktop = desktop
        self.logger = logger
        (events, arrival) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(EventHooks.maximumQueue))
    }

    /// Applies a new configuration.
    ///
    /// Hooks that are running continue.
    ///
    /// - Parameters:
    ///   - hooks: The hooks to run.
    ///   - derived: The sessions that are derived from others.
    func adopt(_ hooks: HookSettings, derived: Set<SessionName>) {
        standing.withLock { $0 = ActiveSettings(hooks: hooks, derived: derived) }
    }

    func observe(_ event: AgentEvent) {
        let wanted = standing.withLock { standing in
            !standing.hooks.event.isEmpty || !standing.hooks.loginRequired.isEmpty || shows(event, standing)
                || desktop != nil && EventHooks.settled.contains(event.name)
        }
        guard wanted, case .dropped(let lost) = arrival.yield(event) else { return }
        logger.warning(
            "hook too slow, event dropped",
            metadata: ["event": "\(lost.name.rawValue)"]
        )
    }

    /// Runs hooks until the process ends.
    func work() async {
        // The numbers of notices that the desktop may still show.
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

    /// Parses the number of a notice from the output of `notify-send`.
    private static func noticeNumber(_ printed: [UInt8]) -> String? {
        let digits = printed.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return (1...10).contains(digits.count) ? String(decoding: digits, as: UTF8.self) : nil
    }

    private func shows(_ event: AgentEvent, _ standing: ActiveSettings) -> Bool {
        desktop != nil && standing.hooks.isOnDesktop && EventHooks.noticed.contains(event.name)
            && !standing.endedWithSource(event)
    }

    /// Runs a hook.
    ///
    /// - Returns: The output of the hook.
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
            logger.warning("hook failed", metadata: text)
        } catch {
            logger.warning("hook failed", metadata: ["reason": "\(error.message)"])
        }
        return []
    }
}
