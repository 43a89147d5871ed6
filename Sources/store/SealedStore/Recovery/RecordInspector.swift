// SPDX-License-Identifier: MIT

import SecretMemory

/// The names of the files that exist for one record.
struct FoundRecordFiles {
    let record: RandomID
    let roles: Set<RecordFiles.Role>
    let hasLifeboat: Bool
}

/// A reader that examines the files of records before any is changed.
///
/// Safe to call from any thread.
struct RecordInspector {
    let files: RecordFiles
    let reader: RecordReader
    /// The commits that the disk rejected before the store was locked.
    let parked: [RandomID: RecordLedgerEntry.PendingCommit]

    func surveys(of traces: ArraySlice<FoundRecordFiles>) -> [RecordSurvey] {
        traces.map { trace in
            var survey = RecordSurvey(record: trace.record, files: files, reader: reader)
            survey.examine(trace.roles, hasLifeboat: trace.hasLifeboat, parked: parked[trace.record])
            return survey
        }
    }
}
