// SPDX-License-Identifier: MIT

/// A block found in the lines of a file.
///
/// One of its comments may be missing. When git removes a section up to the next header, it also removes the
/// comment that ends one block and the one that begins the next.
struct FoundBlock {
    let mark: BlockIdentifier
    /// The lines of the block with its existing comments.
    let range: ClosedRange<Int>
    /// The lines of the block without its comments.
    let inside: Range<Int>

    /// Whether both comments exist.
    var isWhole: Bool { range.count == inside.count + 2 }

    /// Whether only a comment is left of the block.
    var isComment: Bool { range.count == 1 }
}
