// SPDX-License-Identifier: MIT

import AgentSettings
import ServerSettings

/// The rules of the two mobile back ends, from their provider files.
extension JSONBackEndDialect {
    static let signaling = rules(of: "signaling")
    static let ecall = rules(of: "ecall")

    private static func rules(of provider: String) -> JSONBackEndDialect {
        let text =
            "[session.w]\nkind = \"json\"\npreset = \"\(provider)\"\nbase_url = \"https://api.example\"\n"
        guard let settings = try? SettingsReader(home: nil).read(Array(text.utf8), file: "c"),
            case .json(let backEnd)? = settings.sessions.first?.server
        else { fatalError("the provider file of \(provider) cannot be used") }
        return backEnd.rules
    }
}
