// SPDX-License-Identifier: MIT

// Before anything else: a crash must not print memory, and descriptors 0 to 2 must be open.
ProcessHardening.begin()
Program.run()
