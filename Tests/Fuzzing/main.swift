// SPDX-License-Identifier: MIT

import Glibc

/// libFuzzer's own `main`, with the function to call as an argument.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

// fuzz TARGET LIBFUZZER-ARGUMENT...
guard CommandLine.argc > 1, let name = CommandLine.unsafeArgv[1],
    let target = FuzzTarget(rawValue: String(cString: name))
else {
    print("fuzz: name one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: " "))")
    exit(2)
}
chosen = target
// libFuzzer starts itself again with the same arguments, so the target remains one of them, as a directory would.
var count = CommandLine.argc - 1
var arguments = CommandLine.unsafeArgv + 1
arguments[0] = CommandLine.unsafeArgv[0]
exit(runDriver(&count, &arguments, testOneInput))

/// Runs the chosen target.
///
/// The fuzzer's library finds this function by its name.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    chosen.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
