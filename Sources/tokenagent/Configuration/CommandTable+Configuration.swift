// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import CommandExecution
import Glibc
import OAuthClient
import ServerSettings

/// The commands of a configuration, as a table for the process that runs them.
extension CommandTable {
    init(_ settings: Settings) {
        var entries: [Entry] = []
        let hooks = settings.hooks
        if hooks.isOnDesktop { entries.append(Entry(words: DesktopNotice.command)) }
        for words in [hooks.loginRequired, hooks.event, hooks.confirm, settings.vault.unlockCommand] {
            entries.append(Entry(words: words))
        }
        entries.append(Entry(words: settings.vault.rollbackCounter, takesOrder: true))
        entries += settings.proxy.commands.map { Entry(words: $0) }
        entries += settings.fleet?.commands.map { Entry(words: $0) } ?? []
        for session in settings.sessions {
            entries += session.commands.map { Entry(words: $0) }
        }
        self.init(entries.filter { !$0.words.isEmpty })
    }

    /// Sends the first table to the runner at the other end of `socket`.
    ///
    /// Its absence is noticed elsewhere.
    ///
    /// Blocks until the table is written. Call it before any peer is connected to this process.
    func hand(to socket: Int32) {
        DescriptorIO.write(RunnerFrameKind.handing(self), to: socket)
    }

    /// Writes the commands of the configuration to standard output, as a table for the runner process.
    ///
    /// - Throws: ``StartFailure`` if the configuration has an error.
    static func list(_ places: AgentLocations) throws(StartFailure) {
        // The configuration may contain a client secret.
        try ProcessHardening.refuseInspection()
        do throws(ConfigurationProblems) {
            let settings = try places.configuration.settings(home: places.home)
            DescriptorIO.write(CommandTable(settings).encoded, to: STDOUT_FILENO)
        } catch {
            throw StartFailure(error)
        }
    }
}
