// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import NIOPosix
import Text

/// Collects the lines of the audit log and has them written, so that giving out a token waits for no disk.
///
/// Confined to the event loop, except for the writing itself.
final class AuditTrail {
    /// Longest a line stays in memory.
    private static let delay = TimeAmount.seconds(1)
    /// As many lines are written without waiting for more.
    private static let batch = 512
    /// Lines kept while the disk is slow; more are dropped and counted.
    private static let capacity = 16_384

    /// Called with the lines that have been written, whole and in order.
    var onWritten: (([AuditRecord]) -> Void)?

    private let file: AuditFile
    private let pool: NIOThreadPool
    private let eventLoop: any EventLoop
    private let logger: Logger
    private var records: [AuditRecord] = []
    private var timer: Scheduled<Void>?
    private var isWriting = false
    private var waiters: [EventLoopPromise<Void>] = []
    /// Lines lost since the last successful write, for want of room on the disk or in memory.
    private(set) var dropped = 0
    private var lastTime: Int64 = 0

    init(file: AuditFile, pool: NIOThreadPool, eventLoop: any EventLoop, logger: Logger) {
        self.file = file
        self.pool = pool
        self.eventLoop = eventLoop
        self.logger = logger
    }

    func add(_ record: AuditRecord) {
        lastTime = record.time.secondsSince1970
        guard records.count < Self.capacity else {
            dropped += 1
            return
        }
        records.append(record)
        if records.count >= Self.batch, !isWriting {
            write()
        } else if timer == nil {
            timer = eventLoop.assumeIsolated().scheduleTask(in: Self.delay) { [weak self] in self?.write() }
        }
    }

    /// Writes what there is; the future completes when every line added before is in the file or given up.
    func flush() -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        waiters.append(promise)
        if !isWriting { write() }
        return promise.futureResult
    }

    /// The next lines of the log that `selection` wants; `nil` at the end of what has been written.
    func piece(
        after position: AuditPosition,
        _ selection: AuditSelection
    ) -> EventLoopFuture<(lines: [UInt8], position: AuditPosition)?> {
        let (file, pool, eventLoop) = (file, pool, eventLoop)
        return pool.runIfActive(eventLoop: eventLoop) {
            var position = position
            let all = file.piece(after: &position)
            return all.isEmpty ? nil : (selection.lines(of: all), position)
        }
    }

    private func write() {
        timer?.cancel()
        timer = nil
        guard !isWriting else { return }
        guard !records.isEmpty || dropped > 0 else { return finishWaiting() }
        let (batch, lost, time, file) = (records, dropped, lastTime, file)
        records = []
        isWriting = true
        pool.runIfActive(eventLoop: eventLoop) {
            file.append(AuditTrail.text(batch, dropped: lost, at: time))
        }
        .assumeIsolated()
        .whenComplete { [self] result in
            isWriting = false
            batchEnded((try? result.get()) ?? false, batch, lost)
        }
    }

    private func batchEnded(_ isWritten: Bool, _ batch: [AuditRecord], _ lost: Int) {
        if isWritten {
            dropped -= lost
            onWritten?(batch)
        } else {
            if dropped == 0 {
                logger.error(
                    "audit lines are lost: the log cannot be written",
                    metadata: ["file": "\(file.path)"]
                )
            }
            dropped += batch.count
        }
        // If the disk has no room, trying again at once is no use.
        guard isWritten, !records.isEmpty else { return finishWaiting() }
        write()
    }

    private func finishWaiting() {
        let done = waiters
        waiters = []
        for waiter in done { waiter.succeed() }
        if timer == nil, !records.isEmpty {
            timer = eventLoop.assumeIsolated().scheduleTask(in: Self.delay) { [weak self] in self?.write() }
        }
    }

    /// The lines as they stand in the file; if lines were lost, one that says so comes first.
    private static func text(_ records: [AuditRecord], dropped: Int, at time: Int64) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(160 * (records.count + 1))
        if dropped > 0 { text += "{\"time\":\(time),\"dropped\":\(dropped)}\n".utf8 }
        for record in records { record.write(to: &text) }
        return text
    }
}
