// SPDX-License-Identifier: MIT

import Logging
import NIOCore
import NIOPosix
import Text

/// The queue of audit lines and their writing in batches, so that no token request waits for the disk.
///
/// Confined to the agent's event loop, except for the writing itself.
final class AuditWriteQueue {
    /// The maximum time that a line stays in memory.
    private static let delay = TimeAmount.seconds(1)
    /// The number of lines that are written without waiting for more.
    private static let batch = 512
    /// The maximum number of lines in memory while the disk is slow; further lines are dropped and counted.
    private static let capacity = 16_384

    /// The action after a write, with the lines written, whole and in order.
    var onWritten: (([AuditRecord]) -> Void)?

    private let file: AuditFile
    private let pool: NIOThreadPool
    private let eventLoop: any EventLoop
    private let logger: Logger
    private var records: [AuditRecord] = []
    private var timer: Scheduled<Void>?
    private var isWriting = false
    private var waiters: [EventLoopPromise<Void>] = []
    /// The number of lines lost since the last successful write, because the disk or the queue was full.
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

    /// Writes the queued lines.
    ///
    /// - Returns: A future that completes when every line added before is in the file or has been given up.
    func flush() -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        waiters.append(promise)
        if !isWriting { write() }
        return promise.futureResult
    }

    /// Reads the next lines of the log that match `selection`.
    ///
    /// - Returns: The lines and the position after them, or `nil` at the end of the log.
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
            file.append(AuditWriteQueue.text(batch, dropped: lost, at: time))
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
                    "audit lines lost: cannot write the log",
                    metadata: ["file": "\(file.path)"]
                )
            }
            dropped += batch.count
        }
        // A retry at once would fail again if the disk is full.
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

    /// Returns the lines as written to the file, after one about lost lines if there are any.
    private static func text(_ records: [AuditRecord], dropped: Int, at time: Int64) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(160 * (records.count + 1))
        if dropped > 0 { text += "{\"time\":\(time),\"dropped\":\(dropped)}\n".utf8 }
        for record in records { record.write(to: &text) }
        return text
    }
}
