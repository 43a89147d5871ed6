// SPDX-License-Identifier: MIT

import AgentProtocol
import CommandCore
import Glibc

/// One run of curl whose output is held back until the server has accepted the token.
struct CurlAttempt: ~Copyable {
    /// The maximum number of bytes of a rejection that are held back: 1 MiB.
    private static let maximumRefusalLength = 1 << 20
    /// The maximum number of bytes of a rejection's body that are sent to the agent: 8 KiB.
    private static let maximumReportLength = 8192
    /// The exit status of curl if it cannot write its output.
    private static let writeFailure: Int32 = 23

    private let arguments: CurlArguments
    let server: ServerAddress
    private(set) var answer: CurlResponseParser
    /// The exit status of curl.
    private var status: Int32 = 0
    private var isPassing = false
    /// The first bytes of the first response's body, after the held output was released.
    private var passedBody: [UInt8] = []
    private var heads: BufferedCurlOutput
    private var output: BufferedCurlOutput
    private var errors: BufferedCurlOutput
    /// The final target of curl's headers.
    private var headerTarget: Int32 = -1
    /// The doubling of the headers, if the output contains them twice.
    private var doubledHeads: ResponseHeadDuplicator?

    private init(
        _ arguments: CurlArguments,
        _ server: ServerAddress,
        _ heads: consuming BufferedCurlOutput,
        _ output: consuming BufferedCurlOutput,
        _ errors: consuming BufferedCurlOutput
    ) {
        self.arguments = arguments
        self.server = server
        answer = CurlResponseParser(of: server, isOfSeveral: arguments.makesSeveralRequests)
        doubledHeads = arguments.repeatsHeaders ? ResponseHeadDuplicator() : nil
        self.heads = heads
        self.output = output
        self.errors = errors
    }

    /// Prepares a run of curl.
    static func prepared(
        _ arguments: CurlArguments,
        _ server: ServerAddress
    ) throws(AgentError) -> CurlAttempt {
        let heads = try BufferedCurlOutput()
        let output = try BufferedCurlOutput()
        let errors = try BufferedCurlOutput()
        return CurlAttempt(arguments, server, heads, output, errors)
    }

    /// Runs curl with `token`; afterwards ``isHeld`` is whether the output is still held back.
    mutating func run(
        _ token: AgentToken,
        input: Int32,
        _ signals: borrowing RelayedSignals
    ) throws(AgentError) {
        let options = try CurlConfigFile(
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

    /// Releases the held output.
    ///
    /// - Returns: The exit status of curl, or its status for a write error if only this process lost
    ///   output.
    mutating func end() -> Int32 {
        pass()
        if let rest = doubledHeads?.rest() { output.pass(rest, to: STDOUT_FILENO) }
        guard let loss else { return status }
        // curl has seen at most a closed pipe. A reader that closed the pipe needs no message about it.
        if loss.error != EPIPE {
            StandardError.write("tokenctl: cannot write to \(loss.target): \(systemMessage(loss.error))\n")
        }
        return status == 0 ? CurlAttempt.writeFailure : status
    }

    /// The target to which output was not written, with the error number, or `nil` if all was written.
    private var loss: (target: String, error: Int32)? {
        if output.passingError != 0 { return ("standard output", output.passingError) }
        guard heads.passingError != 0, let file = arguments.headerFile else { return nil }
        return (file == "-" ? "standard output" : file, heads.passingError)
    }

    /// The server's rejection of the token, even with an incomplete body, or `nil` if there is none or a
    /// signal ended curl.
    var refusal: CurlResponseParser.Refusal? {
        guard let refusal = answer.refusal, status < 128 else { return nil }
        // 22 is the status for a response that --fail treats as an error. If curl failed otherwise, a 403 may
        // be from a proxy; a proxy would send 407 and not 401 (RFC 9110 §15.5.8).
        let isOfServer = refusal.status == 401 || server.isClear || status == 0 || status == 22
        return isOfServer ? refusal : nil
    }

    /// Whether the server only rejected the token, and no output was released.
    private var isHeld: Bool { !isPassing && refusal != nil && answer.refusalState == .refused }

    /// Whether another run may replace this one.
    var isRepeatable: Bool { isHeld && arguments.isRepeatable }

    /// Releases the held output.
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

    /// Returns the first bytes of the rejection's body as far as they were received.
    ///
    /// The body is known only for the first response: of several responses, the beginning of a later body
    /// cannot be found.
    func refusedBody() -> [UInt8] {
        guard answer.refusal?.isFirst == true else { return [] }
        if let file = arguments.outputFile, file != "-" {
            return CurlAttempt.beginning(of: file)
        }
        return isPassing ? passedBody : heldBody()
    }

    /// Returns the first bytes of the bodies in the held output.
    private func heldBody() -> [UInt8] {
        var body = output.held[...]
        var rest = heads.held[...]
        // With --include the heads precede the body.
        while !rest.isEmpty, !body.isEmpty {
            let head = rest[..<(ResponseHeadDuplicator.end(in: rest) ?? rest.endIndex)]
            guard body.starts(with: head) else { break }
            body = body.dropFirst(head.count)
            rest = rest[head.endIndex...]
        }
        return Array(body.prefix(CurlAttempt.maximumReportLength))
    }

    /// Processes the available output and signals.
    ///
    /// - Parameters:
    ///   - child: The curl process.
    ///   - signals: The signals to relay to it.
    /// - Returns: `false` if curl has closed all its outputs.
    private mutating func watch(_ child: ChildProcess, _ signals: borrowing RelayedSignals) -> Bool {
        let streams = [heads.descriptor, output.descriptor, errors.descriptor]
        guard streams.contains(where: { $0 >= 0 }) else { return false }
        var wanted = (streams + [signals.descriptor]).map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        guard unsafe poll(&wanted, nfds_t(wanted.count), -1) > 0 else { return true }
        signals.pass(to: child)
        // curl flushes the head of a response before it writes the body.
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
        guard answer.refusalState == .settled else { return }
        // curl writes the body of a rejection before the head of the next response.
        if answer.refusal != nil { readOutput() }
        pass()
    }

    private mutating func readOutput() {
        let bytes = output.read()
        if isPassing { return passOutput(bytes) }
        output.hold(bytes)
        // Output without a head is not HTTP, unless it is the head itself. Output beyond the limit is not
        // held back.
        let isForeign = !bytes.isEmpty && heads.held.isEmpty && !output.held.starts(with: "HTTP/".utf8)
        if isForeign || output.held.count > CurlAttempt.maximumRefusalLength { pass() }
    }

    private mutating func passOutput(_ bytes: [UInt8]) {
        guard doubledHeads != nil else { return output.pass(bytes, to: STDOUT_FILENO) }
        let all = output.take() + bytes
        // The output may contain a head that has arrived since heads were last read.
        if heads.descriptor >= 0 { readHeads() }
        output.pass(doubledHeads?.taken(all) ?? [], to: STDOUT_FILENO)
    }

    private mutating func readErrors() {
        let bytes = errors.read()
        if isPassing { return errors.pass(bytes, to: STDERR_FILENO) }
        errors.hold(bytes)
        if errors.held.count > CurlAttempt.maximumRefusalLength { pass() }
    }

    private mutating func openHeaderTarget() {
        switch arguments.headerFile {
        case nil: return
        case "-": headerTarget = arguments.includesHeaders ? -1 : STDOUT_FILENO
        case "%": headerTarget = STDERR_FILENO
        case .some(let path):
            headerTarget = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
            guard headerTarget < 0 else { return }
            StandardError.write("tokenctl: cannot open the header file \(path): \(systemMessage(errno))\n")
        }
    }

    private static func beginning(of path: String) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        return unsafe [UInt8](unsafeUninitializedCapacity: maximumReportLength) { buffer, count in
            count = unsafe max(0, read(file, buffer.baseAddress, buffer.count))
        }
    }
}
