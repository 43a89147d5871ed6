// SPDX-License-Identifier: MIT

import AgentProtocol
import AgentSettings
import ServerSettings
import Text

/// The output of `--list-providers`: every provider file, or one.
enum ProviderListOutput {
    /// Writes one line of JSON to standard output.
    ///
    /// - Parameters:
    ///   - name: The provider, or `nil` for all.
    ///   - configuration: The configuration file, next to which the user's own provider files are.
    static func print(_ name: String?, beside configuration: String) {
        let catalogue = ProviderCatalogue(beside: configuration)
        var message = ProviderListMessage()
        var providers: [ProviderMessage] = []
        let listed = name.map { (names: [$0], problems: []) } ?? catalogue.listing
        var problems: [ProblemMessage] = listed.problems.map(\.wire)
        for name in listed.names {
            do throws(ConfigurationProblems) {
                if let file = try catalogue.file(named: name) { providers.append(ProviderMessage(file)) }
            } catch {
                problems += error.problems.map { problem in
                    var wire = problem.wire
                    wire.file = error.file
                    return wire
                }
            }
        }
        (message.providers, message.problems) = (providers, problems)
        Console.write(message.json.text + "\n")
    }
}

extension ProviderMessage {
    fileprivate init(_ file: ProviderFile) {
        self.init {
            $0.name = file.name
            $0.title = file.title
            $0.file = file.path
            $0.client = file.client
            $0.registrationPage = file.registrationPage
            $0.steps = file.steps
            $0.clientSecret = file.clientSecret.rawValue
            $0.values = file.values.map { value in
                ProviderValueMessage {
                    $0.name = value.name
                    $0.question = value.question
                }
            }
            $0.requiredKeys = file.requiredKeys
            $0.scopes = file.scopeObject
            $0.facts = file.facts.map { fact in
                ProviderEvidenceMessage {
                    $0.keys = fact.keys
                    $0.kind = fact.kind.rawValue
                    $0.sources = fact.sources
                }
            }
            $0.session = file.sessionObject
        }
    }
}
