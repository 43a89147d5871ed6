// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// One run of curl whose output is kept back until the server has taken the token.
struct CurlAttempt: ~Copyable {
    /// Most bytes of a refusal that are kept back: 1 MiB.
    private static let longestRefusal = 1 << 20
    /// Most bytes of a refusal's body that the agent is told: 8 KiB.
    private static let longestReport = 8192
    /// What curl ends with when it cannot write its output.
    private static let writeFailure: Int32 = 23

    private let arguments: CurlArguments
    let server: ServerAddress
    private(set) var answer: CurlResponse
    /// What curl ended with.
    private var status: Int32 = 0
    private var isPassing = false
    /// The beginning of the first answer's body, once what was held has been let through.
    private var passedBody: [UInt8] = []
    private var heads: HeldStream
    private var output: HeldStream
    private var errors: HeldStream
    /// Where curl's headers go in the end.
    private var headerTarget: Int32 = -1
    /// Where they stand on the output twice.
    private var doubledHeads: DoubledHeads?

    private init(
        _ arguments: CurlArguments,
        _ server: ServerAddress,
        _ heads: consuming HeldStream,
        _ output: consuming HeldStream,
        _ errors: consuming HeldStream
    ) {
        self.arguments = arguments
        self.server = server
        answer = CurlResponse(of: server, isOfSeveral: arguments.makesSeveralRequests)
        doubledHeads = arguments.repeatsHeaders ? DoubledHeads() : nil
        self.heads = heads
        self.output = output
        self.errors = errors
    }

    /// Prepares a run.
    static func prepared(
        _ arguments: CurlArguments,
        _ server: ServerAddress
    ) throws(AgentError) -> CurlAttempt {
        let heads = try HeldStream()
        let output = try HeldStream()
        let errors = try HeldStream()
        return CurlAttempt(arguments, server, heads, output, errors)
    }

    /// Runs curl with `token`; afterwards ``isHeld`` tells whether the output is still held.
    mutating func run(
        _ token: AgentToken,
        input: Int32,
        _ signals: borrowing RelayedSignals
    ) throws(AgentError) {
        let options = try CurlOptions(
            token,
            headers: heads.pipe.writing,
            avoidsProxies: server.isClear,
            isQuiet: StandardOutput.isTerminal && arguments.outputFile == nil
        )
        let child = try ChildProcess(
            "curl",
            arguments.commandLine(
                config: "/dev/fd/\(options.descriptor)",
                headers: "/dev/fd/\(heads.pipe.writing)"
            ),
            input: .descriptor(input),
            output: .descriptor(output.pipe.writing),
            error: .descriptor(errors.pipe.writing),
            keeping: [options.descriptor, heads.pipe.writing]
        )
        heads.closeWriting()
        output.closeWriting()
        errors.closeWriting()
        while watch(child, signals) {}
        status = child.wait()
        if !isHeld { pass() }
    }

    /// Lets through what is still held, and answers the exit status: curl's, or where curl saw no failure and output was
    /// lost here, what curl would have ended with.
    mutating func end() -> Int32 {
        pass()
        if let rest = doubledHeads?.rest() { output.pass(rest, to: STDOUT_FILENO) }
        guard let loss else { return status }
        // curl has seen a closed pipe at most. A reader that has gone had enough, and needs no line about it.
        if loss.error != EPIPE {
            StandardError.write("tokenctl: \(loss.target): \(systemMessage(loss.error))\n")
        }
        return status == 0 ? CurlAttempt.writeFailure : status
    }

    /// Where output was lost, and why.
    private var loss: (target: String, error: Int32)? {
        if output.passingError != 0 { return ("standard output", output.passingError) }
        guard heads.passingError != 0, let file = arguments.headerFile else { return nil }
        return (file == "-" ? "standard output" : file, heads.passingError)
    }

    /// The server's refusal of the token, however its body ended; `nil`: there is none, or a signal ended curl.
    var refusal: CurlResponse.Refusal? {
        guard let refusal = answer.refusal, status < 128 else { return nil }
        // 22 is an answer that --fail takes for a failure. Where curl failed otherwise, 403 may be what a proxy said in
        // place of the server; it would say 407 and not 401 (RFC 9110 §15.5.8).
        let isOfServer = refusal.status == 401 || server.isClear || status == 0 || status == 22
        return isOfServer ? refusal : nil
    }

    /// Whether the server did nothing but refuse, and nothing of that was let through.
    private var isHeld: Bool { !isPassing && refusal != nil && answer.verdict == .refused }

    /// Whether another run can take the place of this one.
    var isRepeatable: Bool { isHeld && arguments.isRepeatable }

    /// Lets through what was held.
    mutating func pass() {
        if !isPassing {
            isPassing = true
            passedBody = heldBody()
            doubledHeads?.expect(heads.held)
            openHeaderTarget()
        }
        if headerTarget >= 0 { heads.pass(to: headerTarget) }
        passOutput([])
        errors.pass(to: STDERR_FILENO)
    }

    /// The beginning of the refusal's body, as far as it was seen; of several answers nobody can tell where another than
    /// the first begins.
    func refusedBody() -> [UInt8] {
        guard answer.refusal?.isFirst == true else { return [] }
        if let file = arguments.outputFile, file != "-" {
            return CurlAttempt.beginning(of: file)
        }
        return isPassing ? passedBody : heldBody()
    }

    /// The beginning of what is held of bodies.
    private func heldBody() -> [UInt8] {
        var body = output.held[...]
        var rest = heads.held[...]
        // With --include the heads come first.
        while !rest.isEmpty, !body.isEmpty {
            let head = rest[..<(DoubledHeads.end(in: rest) ?? rest.endIndex)]
            guard body.starts(with: head) else { break }
            body = body.dropFirst(head.count)
            rest = rest[head.endIndex...]
        }
        return Array(body.prefix(CurlAttempt.longestReport))
    }

    /// Handles what has come; false when curl has closed everything.
    private mutating func watch(_ child: ChildProcess, _ signals: borrowing RelayedSignals) -> Bool {
        let streams = [heads.descriptor, output.descriptor, errors.descriptor]
        guard streams.contains(where: { $0 >= 0 }) else { return false }
        var wanted = (streams + [signals.descriptor]).map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        guard unsafe poll(&wanted, nfds_t(wanted.count), -1) > 0 else { return true }
        signals.pass(to: child)
        // curl flushes the head of an answer before it writes the body.
        if heads.descriptor >= 0 { readHeads() }
        if wanted[1].revents != 0 { readOutput() }
        if wanted[2].revents != 0 { readErrors() }
        return true
    }

    private mutating func readHeads() {
        let bytes = heads.read()
        guard !bytes.isEmpty else { return }
        answer.append(bytes)
        if isPassing {
            doubledHeads?.expect(bytes)
            if headerTarget >= 0 { heads.pass(bytes, to: headerTarget) }
            return
        }
        heads.hold(bytes)
        guard answer.verdict == .settled else { return }
        // curl has written the body of a refusal before the head of the next answer.
        if answer.refusal != nil { readOutput() }
        pass()
    }

    private mutating func readOutput() {
        let bytes = output.read()
        if isPassing { return passOutput(bytes) }
        output.hold(bytes)
        // Output without a head is not HTTP, unless it is the head itself; output beyond the limit is not held.
        let isForeign = !bytes.isEmpty && heads.held.isEmpty && !output.held.starts(with: "HTTP/".utf8)
        if isForeign || output.held.count > CurlAttempt.longestRefusal { pass() }
    }

    private mutating func passOutput(_ bytes: [UInt8]) {
        guard doubledHeads != nil else { return output.pass(bytes, to: STDOUT_FILENO) }
        let all = output.take() + bytes
        // A head in it may have come after heads were last looked for.
        if heads.descriptor >= 0 { readHeads() }
        output.pass(doubledHeads?.taken(all) ?? [], to: STDOUT_FILENO)
    }

    private mutating func readErrors() {
        let bytes = errors.read()
        if isPassing { return errors.pass(bytes, to: STDERR_FILENO) }
        errors.hold(bytes)
        if errors.held.count > CurlAttempt.longestRefusal { pass() }
    }

    private mutating func openHeaderTarget() {
        switch arguments.headerFile {
        case nil: return
        case "-": headerTarget = arguments.includesHeaders ? -1 : STDOUT_FILENO
        case "%": headerTarget = STDERR_FILENO
        case .some(let path):
            headerTarget = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            guard headerTarget < 0 else { return }
            StandardError.write("tokenctl: \(path): \(systemMessage(errno))\n")
        }
    }

    private static func beginning(of path: String) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        return unsafe [UInt8](unsafeUninitializedCapacity: longestReport) { buffer, count in
            count = unsafe max(0, read(file, buffer.baseAddress, buffer.count))
        }
    }
}
