// SPDX-License-Identifier: MIT

/// The options on the command line of `tokenagent`.
package struct StartOptions: Equatable, Sendable {
    /// The operation to perform.
    package enum Operation: Equatable, Sendable {
        /// Start an agent in the background and print how to reach it.
        case background
        /// Run the agent in this process.
        case foreground
        /// Run this command with an agent that ends with it.
        case around([String])
        /// Stop the agent of the socket.
        case stop
        case checkConfiguration
        /// Print what prevents an agent from using the store, if anything.
        case checkStore
        /// Print the commands in the configuration, for the process that runs them.
        case listCommands
        /// Remove the token files left by a killed agent.
        case removeTokenFiles
        /// Print the tables `[[proxy]]` and `[[endpoint]]`, for the program that serves them.
        case listListeners
        /// Print the provider files, or one of them.
        case listProviders
        /// Print the forward proxy for a server of a session, for a program that connects to it.
        case showProxy(for: String)
        /// Write the key files of a new fleet named `name`, for `tokenctl fleet`.
        case makeFleetKey(name: String, file: String)
        /// Put a new key into these files.
        case renewFleetKey(file: String)
        /// Put a new key into these files without using it yet.
        case stageFleetKey(file: String)
        /// Start using the staged key in these files.
        case activateFleetKey(file: String)
        case version
        case help
    }

    package var form = Operation.background
    /// The shell syntax, or `nil` to choose it by `$SHELL`.
    package var syntax: ShellSyntax?
    package var socket: String?
    package var configuration: String?
    /// Whether ``configuration`` is the path that a running agent uses, where no file needs to be.
    package var isConfigurationOfAgent = false
    package var stateDirectory: String?
    package var logLevel: LogLevel?
    /// Whether `--check-config` prints its findings as JSON.
    package var wantsJSON = false
    /// A directory of session files that `--check-config` also reads.
    package var drafts: String?
    /// The session whose location `--check-config` prints.
    package var session: String?
    /// The only provider that `--list-providers` lists.
    package var provider: String?
    /// The keys of a `[[proxy]]` that `--list-listeners` lists instead of those in the configuration.
    package var listener: String?
    package var allowsRoot = false
    package var allowsNetworkStore = false
    /// The descriptor on which a background start waits until the agent is ready.
    package var readiness: Int32?
    /// The parent process; the agent ends when it ends.
    package var parent: Int32?

    package init() {}
}

/// An error in the command line, as a clause for the user.
package struct UsageError: Error, Equatable, Sendable {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}

extension StartOptions {
    /// Parses the arguments after the program's name.
    ///
    /// Options end at the first word that is not an option, or at `--`. The rest is a command to run.
    ///
    /// - Parameters:
    ///   - arguments: the arguments as given.
    ///   - directory: the working directory, for relative paths.
    /// - Throws: ``UsageError`` for the first invalid argument.
    package init(_ arguments: [String], in directory: String) throws(UsageError) {
        self.init()
        var rest = arguments[...]
        while let word = rest.first, word.hasPrefix("-"), word != "-" {
            rest.removeFirst()
            guard word != "--" else { break }
            try read(word, &rest, in: directory)
        }
        guard !wantsJSON || form == .checkConfiguration else {
            throw UsageError("--json requires --check-config")
        }
        guard drafts == nil && session == nil || wantsJSON else {
            throw UsageError("--drafts and --session require --check-config --json")
        }
        guard provider == nil || form == .listProviders else {
            throw UsageError("--provider requires --list-providers")
        }
        guard listener == nil || form == .listListeners else {
            throw UsageError("--listener requires --list-listeners")
        }
        guard !rest.isEmpty else { return }
        guard form == .background else {
            throw UsageError("a command cannot be combined with another mode: \(rest[rest.startIndex])")
        }
        form = .around(Array(rest))
    }

    private mutating func read(
        _ word: String,
        _ rest: inout ArraySlice<String>,
        in directory: String
    ) throws(UsageError) {
        let (name, attached) = StartOptions.split(word)
        func value() throws(UsageError) -> String {
            if let attached { return attached }
            guard let next = rest.popFirst() else { throw UsageError("\(name) requires a value") }
            return next
        }
        func path() throws(UsageError) -> String {
            let text = try value()
            guard !text.isEmpty else { throw UsageError("\(name) requires a path") }
            return StartOptions.absolute(text, in: directory)
        }
        switch name {
        case "-a", "--socket": socket = try path()
        case "--config": configuration = try path()
        case "--agent-config":
            configuration = try path()
            isConfigurationOfAgent = true
        case "--state-dir": stateDirectory = try path()
        case "--drafts": drafts = try path()
        case "--session": session = try value()
        case "--make-fleet-key":
            let name = try value()
            guard let file = rest.popFirst(), !file.isEmpty else {
                throw UsageError("\(word) requires a file")
            }
            try be(.makeFleetKey(name: name, file: StartOptions.absolute(file, in: directory)))
        case "--renew-fleet-key": try be(.renewFleetKey(file: path()))
        case "--stage-fleet-key": try be(.stageFleetKey(file: path()))
        case "--activate-fleet-key": try be(.activateFleetKey(file: path()))
        case "--provider": provider = try value()
        case "--listener": listener = try value()
        case "--show-proxy": try be(.showProxy(for: value()))
        case "--log-level": logLevel = try StartOptions.level(value())
        case "--readiness-fd": readiness = try StartOptions.number(name, value())
        case "--parent": parent = try StartOptions.number(name, value())
        default:
            guard attached == nil else { throw UsageError("\(name) takes no value") }
            try readFlag(name)
        }
    }

    private mutating func readFlag(_ name: String) throws(UsageError) {
        switch name {
        case "-s": syntax = .sh
        case "-c": syntax = .csh
        case "--fish": syntax = .fish
        case "-D", "--foreground": try be(.foreground)
        case "-k", "--kill": try be(.stop)
        case "--check-config": try be(.checkConfiguration)
        case "--check-store": try be(.checkStore)
        case "--list-commands": try be(.listCommands)
        case "--remove-token-files": try be(.removeTokenFiles)
        case "--list-listeners": try be(.listListeners)
        case "--list-providers": try be(.listProviders)
        case "--version": try be(.version)
        case "-h", "--help": try be(.help)
        case "--json": wantsJSON = true
        case "--allow-root": allowsRoot = true
        case "--allow-network-store": allowsNetworkStore = true
        default: throw UsageError("unknown option \(name)")
        }
    }

    private mutating func be(_ wanted: Operation) throws(UsageError) {
        guard form == .background || form == wanted else {
            throw UsageError(
                "mutually exclusive: -D, -k, --check-config, --remove-token-files, --version, --help"
            )
        }
        form = wanted
    }

    private static func absolute(_ path: String, in directory: String) -> String {
        path.hasPrefix("/") ? path : "\(directory)/\(path)"
    }

    /// Splits `--name=value`.
    private static func split(_ word: String) -> (name: String, value: String?) {
        guard word.hasPrefix("--"), let mark = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<mark]), String(word[word.index(after: mark)...]))
    }

    private static func number(_ name: String, _ text: String) throws(UsageError) -> Int32 {
        guard let number = Int32(text), number >= 0 else { throw UsageError("\(name) requires a number") }
        return number
    }

    private static func level(_ text: String) throws(UsageError) -> LogLevel {
        guard let level = LogLevel(rawValue: text) else {
            let words = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--log-level must be one of \(words)")
        }
        return level
    }
}
