// SPDX-License-Identifier: MIT

/// The one step that helps after an error.
///
/// ```swift
/// Remedy.run("tokenctl unlock").labelled    // Run: tokenctl unlock
/// Remedy.retry("in 30s").parenthesized      // (retry: in 30s)
/// ```
public struct Remedy: Equatable, Sendable {
    /// The kind of a step, which is also its label on the terminal.
    public enum Kind: String, CaseIterable, Sendable {
        /// A command that can be pasted into a shell.
        case run
        /// A configuration key, an option, a variable or a file that needs another value.
        case set
        /// A manual page, or a command that shows more.
        case see
        /// A time, or what has to happen before the same request succeeds.
        case retry
    }

    /// The kind, from which the label follows.
    public let kind: Kind
    /// The step without its label and without a full stop.
    public let text: String

    /// Creates a step of any kind.
    public init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }

    /// Creates the advice to run `command`.
    public static func run(_ command: String) -> Remedy { Remedy(.run, command) }

    /// Creates the advice to change `setting`.
    public static func set(_ setting: String) -> Remedy { Remedy(.set, setting) }

    /// Creates the advice to read `page`.
    public static func see(_ page: String) -> Remedy { Remedy(.see, page) }

    /// Creates the advice to try again at `time`.
    public static func retry(_ time: String) -> Remedy { Remedy(.retry, time) }

    /// The advice to restart the agent.
    package static var restart: Remedy { .run(AgentRestart.command) }

    /// Creates the advice to change `setting`, which takes effect when the agent is restarted.
    package static func setAndRestart(_ setting: String) -> Remedy {
        .set(setting).followed(by: AgentRestart.command)
    }

    /// Returns this step with `command` as the second one, unless it ends with that command already.
    public func followed(by command: String) -> Remedy {
        guard !text.bytewise.hasSuffix(command.bytewise) else { return self }
        let endsWithCommand = kind == .run || text.bytewise.contains(", then run ".bytewise)
        return Remedy(kind, endsWithCommand ? "\(text) && \(command)" : "\(text), then run \(command)")
    }

    /// The step without the command of ``followed(by:)``, and this command, or `nil` if there is none.
    package var steps: (first: Remedy, command: String?) {
        guard kind != .run, let found = text.bytewise.parts(around: ", then run ") else { return (self, nil) }
        return (Remedy(kind, String(found.before)), String(found.after))
    }

    /// The step with its label, for a line of its own: `Run: tokenctl unlock`.
    public var labelled: String {
        let label =
            switch kind {
            case .run: "Run"
            case .set: "Set"
            case .see: "See"
            case .retry: "Retry"
            }
        return "\(label): \(text)"
    }

    /// The step as a line of its own below the message, without a line break.
    public var indented: String { "  \(labelled)" }

    /// The step in parentheses, for the end of a line: `(run: tokenctl unlock)`.
    public var parenthesized: String { "(\(kind.rawValue): \(text))" }

    /// Divides a line that ends with a step in parentheses, see ``parenthesized``.
    ///
    /// - Returns: The line without the step, and the step; all of the line and `nil` if there is none.
    package static func split(from line: String) -> (message: String, remedy: Remedy?) {
        let bytes = Array(line.utf8)
        guard bytes.last == UInt8(ascii: ")") else { return (line, nil) }
        for start in bytes.indices.reversed() {
            for kind in Kind.allCases {
                let label = " (\(kind.rawValue): ".utf8
                guard bytes[start...].starts(with: label) else { continue }
                let text = bytes[(start + label.count)...].dropLast()
                let remedy = Remedy(kind, String(decoding: text, as: UTF8.self))
                return (String(decoding: bytes[..<start], as: UTF8.self), remedy)
            }
        }
        return (line, nil)
    }
}
