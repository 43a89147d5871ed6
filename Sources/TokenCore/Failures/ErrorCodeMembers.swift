// SPDX-License-Identifier: MIT

/// Where servers other than authorization servers put the code of an error in a JSON answer.
package enum ErrorCodeMembers {
    /// The object that may hold the others; it is searched first.
    package static let wrapper = "error"
    /// The most specific first: `error` may be no more than a word for the status.
    package static let names = ["code", "errorCode", "error_code", "error"]
}
