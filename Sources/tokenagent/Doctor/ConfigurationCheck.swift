// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentServer
import AgentSettings
import Glibc
import ServerSettings
import Text
import TokenCore

/// The check of the configuration for `--check-config`, which reports every error.
///
/// The number of sessions is reported if an agent would start. An error in an additional file costs only the
/// session of that file.
struct ConfigurationCheck {
    private let options: StartOptions
    private let places: AgentLocations
    private var path: String { places.configuration.path }

    init(_ options: StartOptions, _ places: AgentLocations) {
        self.options = options
        self.places = places
    }

    /// Prints lines for the user, or one JSON object.
    ///
    /// Errors end the process with their exit status.
    ///
    /// - Throws: ``StartFailure`` if there are errors and JSON was not requested.
    func run() throws(StartFailure) {
        let settings: Settings
        do throws(ConfigurationProblems) {
            settings = try places.configuration.settings(home: places.home, drafts: options.drafts)
        } catch {
            guard options.wantsJSON else { throw StartFailure(error) }
            print(report(error.problems))
            exit(FailureCode.misconfigured.exitStatus)
        }
        let mistakes = settings.mistakes
        let count = settings.sessions.count
        if options.wantsJSON {
            print(report(mistakes, of: settings))
        } else if mistakes.isEmpty {
            Console.write("\(path): OK (\(count) session\(count == 1 ? "" : "s"))\n")
        } else {
            throw StartFailure(ConfigurationProblems(file: path, problems: mistakes))
        }
        guard mistakes.isEmpty else { exit(FailureCode.misconfigured.exitStatus) }
    }

    private func report(
        _ problems: [ConfigurationProblem],
        of settings: Settings? = nil
    ) -> ConfigurationCheckResultMessage {
        ConfigurationCheckResultMessage {
            $0.file = path
            $0.isGood = problems.isEmpty
            $0.sessions = settings.map { Int64($0.sessions.count) }
            $0.problems = problems.map(\.wire)
            $0.session = options.session.flatMap { SessionName($0) }.flatMap { settings?.place(of: $0, path) }
        }
    }

    private func print(_ report: ConfigurationCheckResultMessage) {
        Console.write(report.json.text + "\n")
    }
}

extension Settings {
    /// Returns the location of the session `name` and the tables that name it, or `nil` if there are none.
    ///
    /// `configuration` is the path of the configuration file.
    fileprivate func place(of name: SessionName, _ configuration: String) -> SessionLocationMessage? {
        let place = places[name]
        let keys = place.flatMap { place in
            SessionKeyValues(
                of: name,
                in: place.file ?? configuration,
                ProviderCatalogue(beside: configuration)
            )
        }
        let tables = tables(naming: name)
        guard place != nil || !tables.isEmpty else { return nil }
        return SessionLocationMessage {
            $0.file = place?.file
            $0.line = place.map { Int64($0.line) }
            $0.namedBy = tables
            $0.own = keys?.own
            $0.provider = keys?.provider
            $0.provided = keys?.provided
            $0.settings = sessions.first { $0.name == name }.map { SessionSettings($0).message(of: name) }
        }
    }
}

extension SessionSettings {
    /// Returns the permitted recipients of the tokens of `name`, in the format of `GET /v1/sessions/NAME`.
    fileprivate func message(of name: SessionName) -> SessionMessage {
        var message = SessionMessage()
        message.session = name.description
        message.kind = kind
        addPlaces(to: &message)
        return message
    }
}

extension ConfigurationProblem {
    var wire: ProblemMessage {
        ProblemMessage {
            $0.file = file
            $0.line = line.map { Int64($0) }
            $0.key = key.isEmpty ? nil : key
            $0.message = message
        }
    }
}
