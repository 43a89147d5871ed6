// SPDX-License-Identifier: MIT

import AgentProtocol
import ArgumentParser
import CommandCore
import Glibc
import Text

/// The options of commands that change the unlock methods, which require an unlock proof.
struct VaultProofOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp(
            "A file with a current key of the store; the store's own key file is found automatically.",
            valueName: "file"
        )
    )
    var keyFile: String?
}

/// The unlock proof for changes of the unlock methods: the user must already be able to unlock the store.
enum ProofPrompt {
    /// Adds the unlock proof that the agent at `endpoint` requires to `body`.
    ///
    /// With `fromStandardInput` a passphrase is the next line of standard input, without a prompt.
    static func add<Members: UnlockProofMembers>(
        to body: inout AgentRequestBody<Members>,
        for endpoint: AgentEndpoint,
        _ options: VaultProofOptions,
        fromStandardInput: Bool
    ) throws {
        if let file = options.keyFile {
            return body.add(\.unlockKey, secret: try KeyFileHexEncoding.read(file))
        }
        let vault: VaultMessage = try endpoint.message(AgentRequest(.get, "vault"))
        switch vault.proof {
        case .passphrase:
            let passphrase = try VaultPassphrase.present(fromStandardInput: fromStandardInput)
            body.add(\.unlockPassphrase, secret: passphrase)
        case .keyFile: body.add(\.unlockKey, secret: try KeyFileHexEncoding.read(try keyFile(of: vault)))
        case .key:
            throw AgentError(
                .badRequest,
                "this requires the key from the store's \(SlotKind.alternatives { $0.isExternal ? $0.traits.noun : nil })",
                remedy: .set("--key-file or hooks.confirm")
            )
        case .confirm, nil: return
        }
    }

    private static func keyFile(of vault: VaultMessage) throws(AgentError) -> String {
        guard let path = vault.slots?.first(where: { $0.type == .keyFile })?.detail else {
            throw AgentError(.internal, "the agent reported no key file")
        }
        return path
    }
}

/// The contents of a key file as hexadecimal digits.
private enum KeyFileHexEncoding {
    /// The maximum size of a key file that the store accepts, in bytes.
    private static let longest = 8192

    static func read(_ path: String) throws(AgentError) -> Secret {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw AgentError(.badRequest, "\(path): \(systemMessage(errno))") }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: longest + 1)
        defer { bytes.wipe() }
        var count = 0
        while count < bytes.count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(file, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw AgentError(.badRequest, "\(path): \(systemMessage(errno))") }
            guard got > 0 else { break }
            count += got
        }
        guard count <= longest else { throw AgentError(.badRequest, "\(path) is too long for a key file") }
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * count)
        for byte in bytes[..<count] {
            let (high, low) = Hex.digits(of: byte)
            digits.append(high)
            digits.append(low)
        }
        return try Secret(digits, of: "key of \(path)")
    }
}
