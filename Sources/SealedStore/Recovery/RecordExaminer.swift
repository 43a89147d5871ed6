// SPDX-License-Identifier: MIT

/// What there is of a record.
struct RecordTrace {
    let record: RandomID
    let roles: Set<RecordFiles.Role>
    let hasLifeboat: Bool
}

/// Examines the files of records, on any thread.
struct RecordExaminer {
    let files: RecordFiles
    let reader: RecordReader
    /// Commits the disk refused before the store was locked.
    let parked: [RandomID: RecordEntry.PendingCommit]

    func surveys(of traces: ArraySlice<RecordTrace>) -> [RecordSurvey] {
        traces.map { trace in
            var survey = RecordSurvey(record: trace.record, files: files, reader: reader)
            survey.examine(trace.roles, hasLifeboat: trace.hasLifeboat, parked: parked[trace.record])
            return survey
        }
    }
}
