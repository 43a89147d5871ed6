// SPDX-License-Identifier: MIT

/// A block in the lines of a file.
///
/// One of its comments may be lost: git removes a section from its header to the next one, and with it the comment that
/// ends one block and the one that begins the next.
struct FoundBlock {
    let mark: BlockMark
    /// Where it is, with the comments that are there.
    let range: ClosedRange<Int>
    /// Where the lines are that it has beside its comments.
    let inside: Range<Int>

    /// Whether both comments are there.
    var isWhole: Bool { range.count == inside.count + 2 }

    /// Whether a comment is all that is left of it.
    var isComment: Bool { range.count == 1 }
}
