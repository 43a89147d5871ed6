// SPDX-License-Identifier: MIT

import CHardening

/// The kernel's action for a system call (seccomp(2)).
struct FilterVerdict: Equatable, Sendable {
    let rawValue: UInt32

    static let allow = FilterVerdict(rawValue: 0x7FFF_0000)
    /// Kills the whole process with SIGSYS.
    static let end = FilterVerdict(rawValue: 0x8000_0000)

    /// Makes the call fail with an error number.
    static func refuse(_ error: Int32) -> FilterVerdict {
        FilterVerdict(rawValue: 0x0005_0000 | UInt32(bitPattern: error) & 0xFFFF)
    }
}

/// A condition on the lower 32 bits of an argument, which hold all of an `int` or of a set of flags.
enum ArgumentTest: Equatable, Sendable {
    /// The argument with this index, counted from 0, has this value.
    case equals(Int, UInt32)
    /// The argument has none of these values.
    case isNone(Int, of: [UInt32])
    /// The argument has at least one of these bits.
    case hasAny(Int, bits: UInt32)
    /// The argument has none of these bits.
    case hasNone(Int, bits: UInt32)
}

/// A program for the kernel's packet filter machine, run on every system call (seccomp(2)).
///
/// The first rule that matches decides. A jump goes at most to the end of its own rule, so all jumps are
/// short. Calls that no rule names are allowed; the kernel detects this once and then skips the program for
/// them.
struct FilterProgram: Sendable {
    private var steps: [sock_filter] = []

    /// Creates a program that kills the process on system calls of another machine, where the numbers mean
    /// other calls.
    init(machine: UInt32) {
        append(.load(at: FilterOffset.machine))
        append(.jump(.ifEqual, machine, then: 1, otherwise: 0))
        append(.answer(.end))
        append(.load(at: FilterOffset.number))
        // The x32 calls of x86-64 name the same machine but have this bit in their numbers.
        append(.jump(.ifAnyBit, 0x4000_0000, then: 0, otherwise: 1))
        append(.answer(.end))
    }

    /// Adds a rule: `verdict` applies to calls of `number` that satisfy all `tests`.
    mutating func add(_ verdict: FilterVerdict, to number: UInt32, where tests: [ArgumentTest] = []) {
        var body = tests.flatMap(\.steps) + [.answer(verdict)]
        // The tests replaced the loaded call number, and the rules below compare it.
        if !tests.isEmpty { body.append(.load(at: FilterOffset.number)) }
        append(.jump(.ifEqual, number, then: 0, otherwise: body.count))
        for (index, step) in body.enumerated() {
            // A test that fails continues at the rule's last step.
            append(step, past: body.count - 2 - index)
        }
    }

    /// The finished program, which allows every call that no rule has decided.
    var finished: [sock_filter] {
        var whole = self
        whole.append(.answer(.allow))
        return whole.steps
    }

    private mutating func append(_ step: FilterStep, past: Int = 0) {
        steps.append(step.resolved(past: past))
    }
}

/// Offsets in `struct seccomp_data`, the filter's view of a call.
private enum FilterOffset {
    static let number: UInt32 = 0
    static let machine: UInt32 = 4

    /// Returns the offset, in `seccomp_data`, of the lower 32 bits of a system call's argument.
    ///
    /// All supported machines are little endian.
    static func argument(_ index: Int) -> UInt32 { 16 + 8 * UInt32(index) }
}

/// A step of the program whose jump distance is not yet known.
private enum FilterStep {
    /// A comparison of a jump; the raw value is its instruction code.
    enum Comparison: UInt16 {
        /// `BPF_JMP | BPF_JEQ | BPF_K`
        case ifEqual = 0x15
        /// `BPF_JMP | BPF_JSET | BPF_K`
        case ifAnyBit = 0x45
    }

    case load(at: UInt32)
    case jump(Comparison, UInt32, then: Int, otherwise: Int)
    /// Continues with the next step if the result of the comparison is `isWanted`, otherwise at the rule's
    /// last step.
    case test(Comparison, UInt32, isWanted: Bool)
    case answer(FilterVerdict)

    func resolved(past: Int) -> sock_filter {
        switch self {
        // BPF_LD | BPF_W | BPF_ABS
        case .load(let offset): sock_filter(code: 0x20, jt: 0, jf: 0, k: offset)
        case .jump(let comparison, let value, let then, let otherwise):
            sock_filter(code: comparison.rawValue, jt: UInt8(then), jf: UInt8(otherwise), k: value)
        case .test(let comparison, let value, let isWanted):
            sock_filter(
                code: comparison.rawValue,
                jt: isWanted ? 0 : UInt8(past),
                jf: isWanted ? UInt8(past) : 0,
                k: value
            )
        // BPF_RET | BPF_K
        case .answer(let verdict): sock_filter(code: 0x06, jt: 0, jf: 0, k: verdict.rawValue)
        }
    }
}

extension ArgumentTest {
    fileprivate var steps: [FilterStep] {
        switch self {
        case .equals(let index, let value):
            [.load(at: FilterOffset.argument(index)), .test(.ifEqual, value, isWanted: true)]
        case .isNone(let index, let values):
            [.load(at: FilterOffset.argument(index))] + values.map { .test(.ifEqual, $0, isWanted: false) }
        case .hasAny(let index, let bits):
            [.load(at: FilterOffset.argument(index)), .test(.ifAnyBit, bits, isWanted: true)]
        case .hasNone(let index, let bits):
            [.load(at: FilterOffset.argument(index)), .test(.ifAnyBit, bits, isWanted: false)]
        }
    }
}
