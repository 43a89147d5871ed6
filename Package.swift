// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT

import PackageDescription

/// Every target of ours: Swift 6 mode, strict memory safety, warnings are errors.
let strict: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

/// Tests use the same mode; the strict memory checker is for code that ships.
let testing: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let release: BuildSettingCondition = .when(platforms: [.linux], configuration: .release)

/// For what runs once a minute or once a command, or is little of what a request for a token costs.
let cold: [SwiftSetting] = strict + [.unsafeFlags(["-Osize"], release)]

/// For what computes for long, in every build: without optimisation a power of 3072 bits takes seconds.
let computing: [SwiftSetting] =
    strict + [.unsafeFlags(["-O"], .when(platforms: [.linux], configuration: .debug))]

/// Every symbol is resolved at the start.
///
/// The loader's table is read-only from then on. A loader that resolves symbols later saves registers on the
/// stack, where a piece of a secret that had just been copied was found.
let eagerBinding: [LinkerSetting] = [.unsafeFlags(["-Xlinker", "-z", "-Xlinker", "now"])]

/// Static Swift libraries of which the linker may leave out more, if `make build` names them (`Scripts/slim-libraries`).
let slimLibraries = Context.environment["TOKENAGENT_SWIFT_STATIC"].map { ["-resource-dir", $0] } ?? []

/// Functions of the same code are one function: nothing here tells functions apart by their addresses.
let smallest: [LinkerSetting] = [
    .unsafeFlags(["-use-ld=lld", "-Xlinker", "--icf=all"] + slimLibraries, release),
    // The names of all characters are left out (`CHardening/character_names.c`).
    .unsafeFlags(["-Xlinker", "--wrap=_swift_stdlib_getScalarName"], release),
    .unsafeFlags(
        ["-Xlinker", "-T", "-Xlinker", "\(Context.packageDirectory)/packaging/link/sections.ld"],
        release
    ),
]

/// Functions that every start enters lie side by side, so that fewer pages are read and kept (`Scripts/link-order`).
func ordered(_ program: String) -> [LinkerSetting] {
    let order = "\(Context.packageDirectory)/packaging/link/order/\(program)"
    return [
        .unsafeFlags(
            ["-Xlinker", "--symbol-ordering-file=\(order)", "-Xlinker", "--no-warn-symbol-ordering"],
            release
        )
    ]
}

/// Only a static `tokenctl` starts in under a millisecond, and a static `tokenagent-runner` is smallest.
let staticExecutable: [LinkerSetting] =
    smallest + [
        .unsafeFlags(["-static-executable"], release),
        .linkedLibrary("swiftSynchronization", release),
    ]

/// What the static archive of FoundationEssentials, which the argument parser brings, does not pull in by itself.
let staticFoundation: [LinkerSetting] = [
    .linkedLibrary("_FoundationCollections", release),
    .linkedLibrary("_FoundationCShims", release),
]

/// The agent resolves host names through every NSS module people have, so it keeps glibc dynamic.
let staticStandardLibrary: [LinkerSetting] =
    smallest + [
        // The functions that unwind stacks come from an archive too; the loader has one library less to read.
        .unsafeFlags(["-static-stdlib", "-Xclang-linker", "-static-libgcc"], release),
        // 130,000 relocations of static libraries, packed: less to read at start, 5 MB less in memory.
        .unsafeFlags(["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"], release),
        // Nothing is loaded into the agent that would look for its symbols.
        .unsafeFlags(["-Xlinker", "--no-export-dynamic"], release),
        .linkedLibrary("swiftSynchronization", release),
    ]

let package = Package(
    name: "tokenagent",
    products: [
        .executable(name: "tokenagent", targets: ["tokenagent"]),
        .executable(name: "tokenagent-runner", targets: ["tokenagent-runner"]),
        .executable(name: "tokenagent-proxy", targets: ["tokenagent-proxy"]),
        .executable(name: "tokenctl", targets: ["tokenctl"]),
        .executable(name: "tokenctl-commands", targets: ["tokenctl-commands"]),
        .executable(name: "tokenagent-mcp", targets: ["tokenagent-mcp"]),
        .executable(name: "demo-issuer", targets: ["demo-issuer"]),
        .library(name: "AgentProtocol", targets: ["AgentProtocol"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CPolling"),
        .target(name: "CHardening"),
        .target(name: "Text", swiftSettings: cold),
        .target(name: "SystemCalls", dependencies: ["CSodium", "Text"], swiftSettings: cold),
        .target(name: "TOML", dependencies: ["Text"], swiftSettings: cold),
        .target(name: "ExchangeGuard", dependencies: ["CHardening"], swiftSettings: cold),
        .target(name: "Threads", swiftSettings: cold),
        .target(name: "ModularArithmetic", swiftSettings: computing),
        .target(name: "AgentProtocol", dependencies: ["Text"], swiftSettings: cold),
        .target(name: "TokenCore", dependencies: ["Text"], swiftSettings: cold),
        .target(
            name: "ServerSettings",
            dependencies: ["AgentProtocol", "TOML", "Text", "TokenCore"],
            swiftSettings: cold
        ),
        .target(
            name: "SecretMemory",
            dependencies: ["CSodium", "Text", "TokenCore"],
            swiftSettings: cold
        ),
        .target(
            name: "SealedStore",
            dependencies: [
                "AgentProtocol", "CSodium", "SecretMemory", "SystemCalls", "Text", "Threads", "TokenCore",
            ],
            swiftSettings: cold
        ),
        .target(
            name: "ServerCertificates",
            dependencies: [
                "Text",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: cold
        ),
        .target(
            name: "ForwardProxy",
            dependencies: [
                "AgentProtocol", "Text", "ServerCertificates",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: cold
        ),
        .target(
            name: "OAuthClient",
            dependencies: [
                "CHardening", "ExchangeGuard", "ForwardProxy", "ModularArithmetic", "SealedStore",
                "SecretMemory", "ServerCertificates", "ServerSettings", "SystemCalls", "Text", "Threads",
                "TokenCore",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: cold
        ),
        .target(
            name: "EtcdClient",
            dependencies: [
                "ServerSettings", "Text", "AgentProtocol", "ServerCertificates",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: cold
        ),
        .target(
            name: "FleetStore",
            dependencies: ["EtcdClient", "SealedStore", "SecretMemory", "ServerSettings", "TokenCore"],
            swiftSettings: cold
        ),
        .target(
            name: "AgentServer",
            dependencies: [
                "AgentProtocol", "CHardening", "CPolling", "SealedStore", "SecretMemory", "Text", "Threads",
                "TokenCore",
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict + [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        ),
        .target(
            name: "CommandExecution",
            dependencies: ["SystemCalls", "CHardening", "Text", "Threads"],
            swiftSettings: cold
        ),
        .target(
            name: "CommandClient",
            dependencies: [
                "CommandExecution", "Text", "TokenCore",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: cold
        ),
        .target(
            name: "AgentSettings",
            dependencies: [
                "ServerSettings", "SystemCalls", "TOML", "Text", "Threads", "AgentProtocol", "TokenCore",
            ],
            swiftSettings: cold
        ),
        .target(name: "Confinement", dependencies: ["CHardening"], swiftSettings: cold),
        .target(name: "CWipingAllocator"),
        .target(name: "CTaskHook"),
        .executableTarget(
            name: "tokenagent",
            dependencies: [
                "AgentProtocol", "AgentServer", "AgentSettings", "CHardening", "CommandClient",
                "CommandExecution", "Confinement", "CTaskHook", "CWipingAllocator", "EtcdClient",
                "ExchangeGuard", "FleetStore", "OAuthClient", "SealedStore", "SecretMemory", "ServerSettings",
                "SystemCalls", "Text", "Threads", "TokenCore",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: cold,
            linkerSettings: staticStandardLibrary + staticFoundation + eagerBinding + ordered("tokenagent")
        ),
        .executableTarget(
            name: "tokenagent-runner",
            dependencies: ["CHardening", "CommandExecution", "Confinement", "ExchangeGuard"],
            swiftSettings: cold,
            linkerSettings: staticExecutable + eagerBinding + ordered("tokenagent-runner")
        ),
        .target(
            name: "TokenProxy",
            dependencies: [
                "CHardening", "ForwardProxy", "Text", "AgentProtocol", "ServerCertificates",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "tokenagent-proxy",
            dependencies: ["CHardening", "CWipingAllocator", "AgentProtocol", "Confinement", "TokenProxy"],
            swiftSettings: cold,
            linkerSettings: staticStandardLibrary + staticFoundation + eagerBinding
        ),
        .target(
            name: "CommandCore",
            dependencies: ["CHardening", "Text", "AgentProtocol"],
            swiftSettings: cold
        ),
        .executableTarget(
            name: "tokenctl",
            dependencies: ["CHardening", "AgentProtocol", "CommandCore"],
            swiftSettings: cold,
            linkerSettings: staticExecutable + ordered("tokenctl")
        ),
        .executableTarget(
            name: "tokenctl-commands",
            dependencies: [
                "CHardening", "TOML", "Text", "AgentProtocol", "CommandCore",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: cold,
            linkerSettings: staticExecutable + staticFoundation
        ),
        .target(
            name: "MCPBridge",
            dependencies: [
                "ForwardProxy", "ServerSettings", "Text", "AgentProtocol", "CommandCore",
                "ServerCertificates",
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: cold
        ),
        .executableTarget(
            name: "tokenagent-mcp",
            dependencies: [
                "ServerSettings", "CWipingAllocator", "AgentProtocol", "CommandCore", "MCPBridge",
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: cold,
            linkerSettings: staticStandardLibrary + staticFoundation + eagerBinding
        ),
        .target(
            name: "DemoIssuer",
            dependencies: [
                "Text",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            path: "Demo/DemoIssuer",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "demo-issuer",
            dependencies: [
                "DemoIssuer", "Text",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Demo/demo-issuer",
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "CTesting", "DemoIssuer", "ModularArithmetic", "Text", "Threads", "TokenCore",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: testing
        ),
        .target(name: "CTesting", path: "Tests/CTesting"),
        .executableTarget(
            name: "confinement-probe",
            dependencies: ["CTesting", "CHardening", "Confinement"],
            path: "Tests/processes/ConfinementProbe",
            swiftSettings: testing
        ),
        .target(
            name: "FleetSimulation",
            dependencies: ["TestSupport", "TokenCore"],
            path: "Tests/core/FleetSimulation/Simulation",
            swiftSettings: testing
        ),
        .executableTarget(
            name: "fleet-simulation",
            dependencies: ["FleetSimulation"],
            path: "Tests/core/FleetSimulation/Command",
            swiftSettings: testing
        ),
        .testTarget(name: "TextTests", dependencies: ["Text", "TestSupport"], swiftSettings: testing),
        .testTarget(
            name: "TOMLTests",
            dependencies: ["TOML", "Text", "TestSupport"],
            swiftSettings: testing
        ),
        .testTarget(
            name: "AgentProtocolTests",
            dependencies: ["AgentProtocol", "TestSupport", "Text"],
            swiftSettings: testing
        ),
        .testTarget(
            name: "TokenCoreTests",
            dependencies: ["FleetSimulation", "TokenCore", "TestSupport", "Text"],
            swiftSettings: testing
        ),
        .testTarget(
            name: "SealedStoreTests",
            dependencies: [
                "AgentProtocol", "SealedStore", "SecretMemory", "SystemCalls", "TestSupport", "Text",
                "Threads",
                "TokenCore",
            ],
            exclude: ["Vectors"],
            swiftSettings: testing
        ),
        .testTarget(
            name: "ServerSettingsTests",
            dependencies: ["ServerSettings", "TestSupport", "Text", "TokenCore"],
            swiftSettings: testing
        ),
        .testTarget(
            name: "OAuthClientTests",
            dependencies: [
                "AgentSettings", "CHardening", "CommandExecution", "DemoIssuer", "ExchangeGuard",
                "ForwardProxy",
                "ModularArithmetic", "OAuthClient", "SealedStore", "SecretMemory", "ServerCertificates",
                "ServerSettings", "SystemCalls", "TestSupport", "Text", "Threads", "tokenagent-runner",
                "TOML", "TokenCore",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "JWTKit", package: "jwt-kit"),
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "TokenProxyTests",
            dependencies: [
                "TokenProxy", "AgentProtocol", "TestSupport", "Text",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "AgentServerTests",
            dependencies: [
                "AgentProtocol", "AgentServer", "SealedStore", "SecretMemory", "TestSupport", "Text",
                "TokenCore",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "AgentSettingsTests",
            dependencies: [
                "AgentProtocol", "AgentSettings", "EtcdClient", "OAuthClient", "ServerSettings", "TOML",
                "TestSupport", "Text", "TokenCore",
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "CommandExecutionTests",
            dependencies: [
                "CommandClient", "CommandExecution", "TokenCore", "TestSupport",
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "ExchangeGuardTests",
            dependencies: ["CommandExecution", "ExchangeGuard", "TestSupport", "tokenagent-runner"],
            swiftSettings: testing
        ),
        .testTarget(
            name: "ConfinementTests",
            dependencies: ["Confinement", "TestSupport", "confinement-probe"],
            swiftSettings: testing
        ),
        .testTarget(
            name: "EtcdClientTests",
            dependencies: [
                "ServerSettings", "DemoIssuer", "EtcdClient", "Text", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "FleetStoreTests",
            dependencies: [
                "EtcdClient", "FleetStore", "SealedStore", "SecretMemory", "ServerSettings", "TestSupport",
                "Text", "TokenCore",
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "MCPBridgeTests",
            dependencies: [
                "AgentProtocol", "CommandCore", "DemoIssuer", "MCPBridge", "Text", "TestSupport",
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "TokenctlTests",
            dependencies: [
                "AgentProtocol", "CommandCore", "DemoIssuer", "Text", "TestSupport", "tokenctl",
                "tokenctl-commands",
            ],
            swiftSettings: testing
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AgentProtocol", "DemoIssuer", "Text", "TestSupport", "tokenagent", "tokenagent-mcp",
                "tokenagent-proxy", "tokenagent-runner", "tokenctl", "tokenctl-commands", "demo-issuer",
            ],
            swiftSettings: testing
        ),
    ]
)

/// The areas of `Sources`, from the bottom up, with their targets; what is in no area is at the top.
///
/// `Scripts/check-sources` says which area may import which.
let areas: [(name: String, targets: [String])] = [
    (
        "base",
        [
            "CHardening", "CPolling", "CSodium", "CTaskHook", "CWipingAllocator", "SystemCalls", "TOML",
            "Text",
            "Threads",
        ]
    ),
    ("core", ["TokenCore"]),
    ("store", ["SealedStore", "SecretMemory"]),
    ("servers", ["ServerSettings"]),
    ("processes", ["CommandExecution", "Confinement", "ExchangeGuard", "tokenagent-runner"]),
    (
        "network",
        ["EtcdClient", "ForwardProxy", "ModularArithmetic", "OAuthClient", "ServerCertificates"]
    ),
    ("agent", ["AgentServer", "AgentSettings", "CommandClient", "FleetStore"]),
    ("gateways", ["MCPBridge", "TokenProxy", "tokenagent-mcp", "tokenagent-proxy"]),
    ("commands", ["CommandCore", "tokenctl-commands"]),
]
for target in package.targets where target.path == nil {
    let tested =
        target.name == "TokenctlTests" ? "tokenctl-commands" : target.name.replacing("Tests", with: "")
    let area = areas.first { $0.targets.contains(tested) }.map { "\($0.name)/" } ?? ""
    target.path = "\(target.isTest ? "Tests" : "Sources")/\(area)\(target.name)"
}

// What the fuzzer calls: a test in every build, so that it keeps up with what it calls.
let fuzzed: [Target.Dependency] = [
    "AgentProtocol", "AgentServer", "AgentSettings", "MCPBridge", "OAuthClient", "SealedStore",
    "SecretMemory", "ServerSettings", "Text",
    "TokenCore", "TokenProxy",
    .product(name: "NIOCore", package: "swift-nio"),
]
if Context.environment["TOKENAGENT_FUZZ"] == nil {
    package.targets.append(
        .testTarget(
            name: "FuzzingTests",
            dependencies: fuzzed + ["TestSupport"],
            path: "Tests/Fuzzing",
            exclude: ["Corpora", "main.swift"],
            swiftSettings: testing
        )
    )
} else {
    // The fuzzer, and our targets instrumented for it: `Scripts/fuzz` builds them in a directory of their own.
    let instrumented = SwiftSetting.unsafeFlags(["-sanitize=fuzzer,address", "-O"])
    for target in package.targets where target.type == .regular && target.swiftSettings != nil {
        target.swiftSettings?.append(instrumented)
    }
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: fuzzed,
            path: "Tests/Fuzzing",
            exclude: ["Corpora", "CommittedInputTests.swift"],
            swiftSettings: testing + [instrumented],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]
        )
    )
}
