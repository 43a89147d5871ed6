// SPDX-License-Identifier: MIT

/// The files that exist of a record.
struct RecordTrace {
    let record: RandomID
    let roles: Set<RecordFiles.Role>
    let hasLifeboat: Bool
}

/// An examination of record files.
///
/// Safe to call from any thread.
struct RecordExaminer {
    let files: RecordFiles
    let reader: RecordReader
    /// The commits that the disk rejected before the store was locked.
    let parked: [RandomID: RecordEntry.PendingCommit]

    func surveys(of traces: ArraySlice<RecordTrace>) -> [RecordSurvey] {
        traces.map { trace in
            var survey = RecordSurvey(record: trace.record, files: files, reader: reader)
            survey.examine(trace.roles, hasLifeboat: trace.hasLifeboat, parked: parked[trace.record])
            return survey
        }
    }
}
