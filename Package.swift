// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// Swift 6 mode with the strict flags that the language offers. Warnings are errors in every build, so that the builds
/// of `make test`, `make check` and `swift build` share their flags and with them what they have compiled.
let swift6: [SwiftSetting] = [
  .swiftLanguageMode(.v6), .treatAllWarnings(as: .error),
  // The index for editors leaves out the modules of the system, an eighth of the time of a build, and the headers of
  // C libraries.
  .unsafeFlags(
    ["-index-ignore-system-modules", "-Xfrontend", "-index-ignore-clang-modules"], .when(configuration: .debug)),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Every target but those with tests: in each, what may touch memory it must not is marked `unsafe` in the source. Test
/// targets cannot have it, because what the macros of Swift Testing expand to is not marked.
let strict: [SwiftSetting] =
  swift6 + [
    .strictMemorySafety(),
    // Regular expressions, which nothing uses, are a tenth of a program that links them.
    .unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"]),
  ]

/// Targets around the event loop. Its thread is the main thread, and everything in them belongs to it that does not say
/// `nonisolated`: the compiler checks that (SE-0466).
let mainThread: [SwiftSetting] = [.defaultIsolation(MainActor.self)]

/// In debug builds, lines of a crash, but no variables for a debugger: a tenth of the time that a module of tests takes
/// to compile. As the frontend's flag, which comes after the `-g` of every build: of several the last one counts.
let linesOnly: [SwiftSetting] = [
  .unsafeFlags(["-Xfrontend", "-gline-tables-only"], .when(configuration: .debug))
]

/// In debug builds too what the random runs execute is optimized, a module at once, which takes a fifth less CPU than
/// file by file (`swift build --target Observability`). Checks of overflow, bounds and preconditions stay. The last two
/// flags withdraw SwiftPM's for a build by files, and the remark that says so.
let optimized: [SwiftSetting] =
  linesOnly + [
    .unsafeFlags(
      ["-O", "-wmo", "-num-threads", "2", "-disable-batch-mode", "-suppress-remarks"], .when(configuration: .debug))
  ]

/// A part of the core: it decides, and imports no C module and no platform.
func core(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  // Without Glibc's module, nothing else asks for the rounding functions that the standard library calls.
  .target(
    name: name, dependencies: dependencies, path: "Sources/Core/\(name)", swiftSettings: strict + optimized,
    linkerSettings: [.linkedLibrary("m")])
}

/// A wrapper of one C library.
func platform(_ name: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/Platform/\(name)", swiftSettings: strict + more)
}

/// A library of the system, found by pkg-config and named for apt.
func system(_ name: String, pkgConfig: String, apt: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/Platform/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], _ more: [SwiftSetting] = [], exclude: [String] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["Expectations"], path: "Tests/\(name)", exclude: exclude,
    swiftSettings: swift6 + linesOnly + more)
}

/// The core.
let coreModules: [Target.Dependency] = [
  "Timekeeping", "ExternalInput", "JSON", "Varlink", "HTTPMessages", "HTTP2", "Positioning", "NMEA",
  "SimulatedDrives",
  "FixSources", "Authorization", "ClockEstimation", "FleetEngine", "SourceSelection", "Reporting", "PositionBacklog",
  "Delivery", "Vehicle", "Connectivity", "Observability", "Daemon",
]

/// The date before which no clock can be right: SOURCE_DATE_EPOCH in release builds. Debug builds have one date, so
/// that nothing is compiled again after a commit, or because `make` sets that variable and a shell does not.
let debugBuildEpoch: Int64 = 1_795_219_200
let buildEpoch = Context.environment["SOURCE_DATE_EPOCH"].flatMap { Int64($0) } ?? debugBuildEpoch

let package = Package(
  name: "fleet-locationd",
  products: [
    .executable(name: "fleet-locationd", targets: ["fleet-locationd"]),
    .executable(name: "fleet-locationctl", targets: ["fleet-locationctl"]),
    .executable(name: "fleet-engine-emulator", targets: ["fleet-engine-emulator"]),
  ],
  targets: [
    // Core: decides.
    core("Timekeeping"),
    core("ExternalInput"),
    core("JSON", ["Timekeeping"]),
    core("Varlink", ["JSON"]),
    core("HTTPMessages", ["Timekeeping", "ExternalInput"]),
    core("HTTP2", ["Timekeeping", "HTTPMessages"]),
    core("Positioning", ["Timekeeping", "ExternalInput"]),
    core("NMEA", ["Timekeeping", "Positioning"]),
    core("SimulatedDrives", ["Timekeeping", "Positioning"]),
    core("FixSources", ["Timekeeping", "ExternalInput", "JSON", "Positioning", "NMEA", "SimulatedDrives"]),
    core("Authorization", ["Timekeeping", "ExternalInput", "JSON", "HTTPMessages"]),
    core("Connectivity", ["Timekeeping"]),
    core("ClockEstimation", ["Timekeeping", "HTTPMessages"]),
    core("FleetEngine", ["Timekeeping", "ExternalInput", "JSON", "HTTPMessages", "Positioning", "Authorization"]),
    core("SourceSelection", ["Timekeeping", "ExternalInput", "Positioning", "FixSources"]),
    core("Reporting", ["Timekeeping", "Positioning", "FleetEngine"]),
    core(
      "PositionBacklog",
      ["Timekeeping", "Positioning", "Authorization", "ClockEstimation", "FleetEngine", "Reporting"]),
    core(
      "Delivery",
      [
        "Timekeeping", "HTTPMessages", "Authorization", "ClockEstimation", "FleetEngine", "PositionBacklog",
      ]),
    core(
      "Vehicle",
      [
        "Timekeeping", "ExternalInput", "HTTPMessages", "Positioning", "FixSources", "Authorization", "ClockEstimation",
        "FleetEngine", "Connectivity", "SourceSelection", "Reporting", "PositionBacklog", "Delivery",
      ]),
    core(
      "Observability",
      [
        "Timekeeping", "ExternalInput", "Positioning", "NMEA", "Authorization", "ClockEstimation", "FleetEngine",
        "Connectivity", "SourceSelection", "PositionBacklog", "Delivery", "Vehicle",
      ]),
    core(
      "Daemon",
      [
        "Timekeeping", "ExternalInput", "HTTPMessages", "FixSources", "Authorization", "ClockEstimation", "FleetEngine",
        "Connectivity", "SourceSelection", "Reporting", "PositionBacklog", "Delivery", "Vehicle", "Observability",
      ]),

    // Platform: does.
    system("CSystemd", pkgConfig: "libsystemd", apt: "libsystemd-dev"),
    system("CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
    system("COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
    system("CExpat", pkgConfig: "expat", apt: "libexpat1-dev"),
    system("CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
    system("CZlib", pkgConfig: "zlib", apt: "zlib1g-dev"),
    system("CMicrohttpd", pkgConfig: "libmicrohttpd", apt: "libmicrohttpd-dev"),
    .target(
      name: "CLinux", path: "Sources/Platform/CLinux",
      cSettings: [
        .define("FLEET_BUILD_EPOCH", to: "\(debugBuildEpoch)", .when(configuration: .debug)),
        .define("FLEET_BUILD_EPOCH", to: "\(buildEpoch)", .when(configuration: .release)),
      ]),
    .target(
      name: "CTOML", path: "Sources/Platform/CTOML",
      cxxSettings: [
        .define("NDEBUG"), .define("TOML_EXCEPTIONS", to: "0"), .define("TOML_ENABLE_FORMATTERS", to: "0"),
        // Settings nest three deep; the parser recurses.
        .define("TOML_MAX_NESTED_VALUES", to: "16"),
      ]),
    platform("Release", ["Timekeeping", "CLinux"]),
    platform("SystemCalls", ["CLinux"]),
    platform("CrashReports", ["SystemCalls", "CLinux"]),
    platform("CommandLineOptions", ["ExternalInput", "SystemCalls", "CLinux"]),
    platform("EventLoop", ["Timekeeping", "SystemCalls", "CSystemd", "CLinux"], mainThread),
    platform("GzipCoding", ["CZlib"]),
    platform("URLReader", ["HTTPMessages", "SystemCalls", "CCurl"]),
    platform(
      "HTTPClient",
      [
        "Timekeeping", "ExternalInput", "HTTPMessages", "HTTP2", "Connectivity", "SystemCalls", "EventLoop",
        "URLReader", "GzipCoding", "CLinux", "CCurl",
      ],
      mainThread),
    platform("SerialPort", ["ExternalInput", "SystemCalls", "EventLoop"], mainThread),
    platform("ControlSocket", ["Timekeeping", "Varlink", "SystemCalls", "EventLoop", "CLinux"], mainThread),
    platform("Terminal", ["SystemCalls", "CLinux"]),
    platform("HelperProgram", ["Timekeeping", "SystemCalls", "EventLoop", "CLinux"], mainThread),
    platform("StreamSocket", ["Timekeeping", "ExternalInput", "SystemCalls", "EventLoop", "CLinux"], mainThread),
    platform("NetworkWatch", ["Timekeeping", "Connectivity", "SystemCalls", "EventLoop", "CLinux"], mainThread),
    platform(
      "BacklogStore",
      [
        "Timekeeping", "ExternalInput", "Positioning", "FleetEngine", "PositionBacklog", "Vehicle", "SystemCalls",
        "CSQLite",
      ]),
    platform("TokenStore", ["HTTPMessages", "SystemCalls", "COpenSSL"]),
    platform("RouteFile", ["Timekeeping", "JSON", "Positioning", "SimulatedDrives", "CExpat"]),
    platform("ServiceManager", ["Timekeeping", "ExternalInput", "HTTPMessages", "SystemCalls", "CSystemd"]),
    platform("MessageBus", ["Timekeeping", "FixSources", "SystemCalls", "EventLoop", "CSystemd"]),

    .target(
      name: "Configuration",
      dependencies: [
        "Timekeeping", "ExternalInput", "JSON", "HTTPMessages", "Positioning", "SimulatedDrives", "FixSources",
        "Authorization", "FleetEngine",
        "Reporting", "PositionBacklog", "Delivery", "Vehicle",
        "Release", "SystemCalls", "URLReader", "CTOML",
      ], swiftSettings: strict),
    .target(
      name: "LocationDaemon",
      dependencies: [
        "Timekeeping", "ExternalInput", "JSON", "Varlink", "HTTPMessages", "SimulatedDrives", "FixSources",
        "Authorization", "FleetEngine",
        "SourceSelection", "Delivery", "Vehicle", "Daemon",
        "Observability", "EventLoop", "HTTPClient", "SerialPort", "StreamSocket", "MessageBus", "RouteFile",
        "ServiceManager", "ControlSocket",
        "SystemCalls", "BacklogStore", "TokenStore", "NetworkWatch", "Connectivity", "HelperProgram", "Configuration",
        "Release", "CrashReports",
      ],
      // A link to the one in config/.
      resources: [
        .embedInCode("io.fleet-locationd.Control.varlink"), .embedInCode("io.fleet-locationd.Positions.varlink"),
      ], swiftSettings: strict + mainThread),
    .executableTarget(
      name: "fleet-locationd",
      dependencies: [
        "Timekeeping", "LocationDaemon", "Configuration", "ServiceManager", "EventLoop", "SystemCalls",
        "CommandLineOptions", "Release", "Diagnosis", "ControlTool",
      ],
      // A link to the example in config/, for images without /usr/share/doc.
      resources: [.embedInCode("example-settings.toml")], swiftSettings: strict + mainThread),
    .target(
      name: "Diagnosis",
      dependencies: [
        "Timekeeping", "ExternalInput", "JSON", "HTTPMessages", "Positioning", "NMEA", "SimulatedDrives", "FixSources",
        "Authorization", "FleetEngine",
        "Reporting", "Delivery", "Vehicle",
        "EventLoop", "SerialPort", "StreamSocket", "RouteFile", "ServiceManager", "SystemCalls", "Configuration",
        "LocationDaemon", "MessageBus", "Observability", "Release",
      ], swiftSettings: strict),
    .target(
      name: "ControlTool",
      dependencies: [
        "Timekeeping", "ExternalInput", "JSON", "Varlink", "Positioning", "NMEA", "SimulatedDrives", "FixSources",
        "RecordingReview", "Authorization", "FleetEngine", "Vehicle",
        "Observability",
        "RouteFile", "Configuration", "EventLoop", "ControlSocket", "SystemCalls", "CommandLineOptions", "Release",
        "LocationDaemon", "MessageBus", "HelperProgram", "GzipCoding", "HTTPMessages",
        "Diagnosis",
        "Terminal",
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "fleet-locationctl", dependencies: ["ControlTool", "SystemCalls"], swiftSettings: strict + mainThread),

    // What `fleet-locationctl` says about a recording.
    .target(
      name: "RecordingReview", dependencies: ["Timekeeping", "ExternalInput", "Positioning"], swiftSettings: strict),

    // The local Fleet Engine for demos and tests; nothing that is shipped to a vehicle depends on it.
    .target(
      name: "FleetEngineEmulator", dependencies: ["CLiveMap", "COpenSSL", "CMicrohttpd", "CZlib"],
      exclude: ["LiveMap"], swiftSettings: strict),
    // The live map's page: the emulator stays one file.
    .target(name: "CLiveMap"),
    .executableTarget(
      name: "fleet-engine-emulator",
      dependencies: ["FleetEngineEmulator", "CommandLineOptions", "Positioning", "Release", "RouteFile"],
      swiftSettings: strict),

    // What the documents in docs/ that follow from the code are made of; nothing that is shipped depends on it.
    .target(
      name: "Documentation",
      dependencies: ["Timekeeping", "Vehicle", "Observability", "Configuration"],
      swiftSettings: strict),

    .target(name: "Expectations", path: "Tests/Support/Expectations", swiftSettings: strict),
    tests("ExpectationsTests", []),
    tests("PositioningTests", ["Timekeeping", "Positioning"]),
    .target(
      name: "NMEATesting", dependencies: ["Timekeeping", "Positioning", "NMEA"], path: "Tests/Support/NMEATesting",
      swiftSettings: strict),
    .target(
      name: "DriveTesting", dependencies: ["SimulatedDrives"], path: "Tests/Support/DriveTesting",
      swiftSettings: strict),
    .target(name: "GPSDTesting", path: "Tests/Support/GPSDTesting", swiftSettings: strict),
    tests(
      "NMEATests", ["Timekeeping", "Positioning", "NMEA", "SimulatedDrives", "NMEATesting", "DriveTesting"]),
    tests(
      "SimulatedDrivesTests", ["Timekeeping", "Positioning", "NMEA", "SimulatedDrives", "DriveTesting"]),
    tests(
      "FixSourcesTests",
      [
        "Timekeeping", "ExternalInput", "Positioning", "NMEA", "SimulatedDrives", "FixSources", "NMEATesting",
        "DriveTesting", "GPSDTesting",
      ]),
    tests("RecordingReviewTests", ["Timekeeping", "Positioning", "RecordingReview"]),
    tests(
      "ConfigurationTests",
      [
        "Timekeeping", "ExternalInput", "HTTPMessages", "Positioning", "SimulatedDrives", "Authorization",
        "FleetEngine",
        "Reporting", "Delivery", "Vehicle", "Configuration",
      ]),
    tests(
      "BacklogStoreTests",
      [
        "Timekeeping", "HTTPMessages", "Positioning", "Authorization", "FleetEngine", "PositionBacklog", "Vehicle",
        "SystemCalls",
        "BacklogStore", "CSQLite", "FileTesting",
      ], exclude: ["Fixtures"]),
    tests("TokenStoreTests", ["HTTPMessages", "TokenStore", "FileTesting"]),
    tests("RouteFileTests", ["Timekeeping", "SimulatedDrives", "RouteFile"]),
    // Tests, and what only they use.
    .target(name: "CPseudoTerminal", path: "Tests/Support/CPseudoTerminal"),
    .target(
      name: "LoopTesting", dependencies: ["Timekeeping", "EventLoop"], path: "Tests/Support/LoopTesting",
      swiftSettings: strict + mainThread),
    .target(name: "FileTesting", path: "Tests/Support/FileTesting", swiftSettings: strict),
    tests("EventLoopTests", ["Timekeeping", "SystemCalls", "EventLoop", "LoopTesting", "FileTesting"], mainThread),
    tests(
      "HTTPClientTests",
      [
        "Timekeeping", "SystemCalls", "HTTPMessages", "Connectivity", "EventLoop", "HTTPClient", "LoopTesting",
        "FileTesting",
      ],
      mainThread),
    tests(
      "HelperProgramTests", ["Timekeeping", "EventLoop", "HelperProgram", "LoopTesting", "FileTesting"], mainThread),
    tests(
      "SerialPortTests",
      ["FixSources", "SystemCalls", "EventLoop", "SerialPort", "LoopTesting", "FileTesting", "CPseudoTerminal"],
      mainThread),
    tests("SystemCallsTests", ["SystemCalls", "FileTesting"]),
    tests("CrashReportsTests", ["CrashReports"]),
    tests("ServiceManagerTests", ["Timekeeping", "HTTPMessages", "SystemCalls", "ServiceManager", "FileTesting"]),
    tests("MessageBusTests", ["Timekeeping", "SystemCalls", "MessageBus", "FileTesting"]),
    tests("TimekeepingTests", ["Timekeeping"]),
    tests("ExternalInputTests", ["ExternalInput"]),
    tests("URLReaderTests", ["HTTPMessages", "SystemCalls", "URLReader"]),
    tests("ConnectivityTests", ["Timekeeping", "Connectivity"], exclude: ["Recordings"]),
    .target(name: "JSONTesting", dependencies: ["JSON"], path: "Tests/Support/JSONTesting", swiftSettings: strict),
    tests("JSONTests", ["Timekeeping", "JSON", "JSONTesting"]),
    tests("VarlinkTests", ["JSON", "Varlink"]),
    tests("HTTPMessagesTests", ["Timekeeping", "HTTPMessages"]),
    tests("HTTP2Tests", ["Timekeeping", "HTTPMessages", "HTTP2"]),
    tests("AuthorizationTests", ["Timekeeping", "ExternalInput", "HTTPMessages", "Authorization"]),
    tests(
      "FleetEngineTests",
      ["Timekeeping", "ExternalInput", "JSON", "HTTPMessages", "Positioning", "Authorization", "FleetEngine"]),
    .target(
      name: "AgentTesting",
      dependencies: [
        "Timekeeping", "ExternalInput", "JSON", "HTTPMessages", "Positioning", "FixSources", "Authorization",
        "FleetEngine", "SourceSelection", "Reporting", "PositionBacklog", "Delivery", "Vehicle", "Observability",
        "Daemon",
      ], path: "Tests/Support/AgentTesting", swiftSettings: strict),
    tests("ClockEstimationTests", ["Timekeeping", "HTTPMessages", "ClockEstimation"]),
    tests("SourceSelectionTests", ["Timekeeping", "Positioning", "FixSources", "SourceSelection"]),
    tests("ReportingTests", ["Timekeeping", "Positioning", "FleetEngine", "Reporting"]),
    tests(
      "PositionBacklogTests",
      ["Timekeeping", "HTTPMessages", "Positioning", "Authorization", "FleetEngine", "PositionBacklog"]),
    tests(
      "DeliveryTests",
      [
        "Timekeeping", "ExternalInput", "HTTPMessages", "Positioning", "Authorization", "FleetEngine",
        "PositionBacklog", "Delivery",
      ]),
    tests("VehicleTests", coreModules + ["AgentTesting"]),
    tests("DaemonTests", coreModules + ["AgentTesting"]),
    tests("ObservabilityTests", coreModules + ["AgentTesting"], exclude: ["events.txt"]),
    tests("DocumentationTests", ["ExternalInput", "Vehicle", "Observability", "Documentation", "Configuration"]),
    .target(
      name: "FleetModel",
      dependencies: [
        "Timekeeping", "HTTPMessages", "Positioning", "Authorization", "FleetEngine", "SourceSelection", "Reporting",
        "PositionBacklog", "Delivery", "Vehicle", "Connectivity",
      ], path: "Tests/Support/FleetModel", swiftSettings: strict + optimized),
    // Optimized, because the random runs spend their time in it; the scenarios are not, because they compile faster
    // without. It has no tests, and is a test target because it records issues and nothing else needs it.
    .testTarget(
      name: "SimulatedWorld", dependencies: coreModules, path: "Tests/Support/SimulatedWorld",
      swiftSettings: swift6 + linesOnly + optimized),
    tests("Simulation", coreModules + ["SimulatedWorld", "FleetModel"], exclude: ["coverage.txt", "diary.txt"]),
    tests("Exploration", coreModules + ["AgentTesting"], optimized),
    tests("FleetEngineEmulatorTests", ["FleetEngineEmulator", "fleet-engine-emulator", "GzipCoding", "FileTesting"]),
    // On the executables, so that they are built.
    tests(
      "Integration",
      ["fleet-locationd", "fleet-locationctl", "fleet-engine-emulator", "CPseudoTerminal", "FileTesting"]),
    tests(
      "LocationDaemonTests",
      coreModules + [
        "EventLoop", "SystemCalls", "StreamSocket", "Configuration", "BacklogStore", "LocationDaemon",
        "LoopTesting", "AgentTesting", "FileTesting", "GPSDTesting", "CPseudoTerminal",
      ], mainThread),
    // Hours of drives, in a third of the time.
    tests("FilterScore", coreModules + ["AgentTesting", "RecordingReview"], optimized, exclude: ["Drives"]),
    tests(
      "ControlToolTests",
      coreModules + [
        "AgentTesting", "Configuration", "ControlTool", "Diagnosis", "FileTesting", "GzipCoding", "Release", "Terminal",
      ],
      exclude: ["causes.txt"]),
    tests(
      "DiagnosisTests",
      [
        "Timekeeping", "ExternalInput", "HTTPMessages", "Positioning", "FixSources", "Authorization", "FleetEngine",
        "Vehicle",
        "Configuration",
        "EventLoop",
        "SerialPort", "SystemCalls", "LocationDaemon", "Diagnosis", "MessageBus", "Observability", "Release",
        "CPseudoTerminal", "FileTesting",
      ]),
  ],
  cxxLanguageStandard: .cxx17
)

// Built when asked for: a fuzz target links only with --sanitize=fuzzer, and neither is for a plain build.
if Context.environment["FUZZ"] != nil {
  package.targets += [
    ("FuzzNMEA", ["Timekeeping", "Positioning", "NMEA", "FixSources", "RecordingReview"]),
    ("FuzzGPSD", ["Timekeeping", "Positioning", "FixSources", "RecordingReview"]),
    ("FuzzSenders", ["Timekeeping", "ExternalInput", "Positioning", "FixSources"]),
    ("FuzzModem", ["Timekeeping", "Positioning", "FixSources"]),
    ("FuzzNetlink", ["Timekeeping", "Connectivity"]),
    ("FuzzSettings", ["FleetEngine", "Reporting", "Vehicle", "Configuration"]),
    ("FuzzGPX", ["SimulatedDrives", "RouteFile"]),
    ("FuzzGeoJSON", ["Timekeeping", "Positioning", "NMEA", "SimulatedDrives", "RouteFile"]),
    ("FuzzJSON", ["JSON", "JSONTesting"]),
    ("FuzzVarlink", ["JSON", "Varlink"]),
    ("FuzzTokenResponse", ["Timekeeping", "HTTPMessages", "Authorization"]),
    ("FuzzJWT", ["Timekeeping", "ExternalInput", "HTTPMessages", "Authorization"]),
    ("FuzzHTTP2", ["Timekeeping", "HTTPMessages", "HTTP2"]),
    ("FuzzStoredToken", ["Timekeeping", "HTTPMessages", "Authorization", "Delivery", "Vehicle"]),
  ].map { name, dependencies in
    .executableTarget(
      name: name, dependencies: dependencies, path: "Fuzz/\(name)",
      swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])])
  }
}
if Context.environment["BENCH"] != nil {
  package.targets += [
    .executableTarget(
      name: "DecoderBenchmark", dependencies: ["Timekeeping", "Positioning", "NMEA"],
      path: "Benchmarks/DecoderBenchmark", swiftSettings: strict),
    .executableTarget(
      name: "BacklogBenchmark",
      dependencies: [
        "Timekeeping", "HTTPMessages", "Positioning", "Authorization", "FleetEngine", "PositionBacklog", "Delivery",
      ],
      path: "Benchmarks/BacklogBenchmark", swiftSettings: strict),
    .executableTarget(
      name: "FleetBenchmark", dependencies: ["FleetModel"], path: "Benchmarks/FleetBenchmark", swiftSettings: strict),
  ]
}

// SwiftPM compiles a module again when the interface of a module that it depends on has changed. A private property
// changes the layout of a type, but not the interfaces of the modules in between: so each target depends on all that it
// needs, also indirectly. DEPENDENCIES=declared leaves that out, for the check of imports in scripts/check-arrows.sh.
if Context.environment["DEPENDENCIES"] != "declared" {
  let declared = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0.dependencies) })
  for target in package.targets {
    var names: Set<String> = []
    func add(_ dependencies: [Target.Dependency]) {
      for case .byNameItem(let name, _) in dependencies where names.insert(name).inserted { add(declared[name] ?? []) }
    }
    add(target.dependencies)
    target.dependencies = names.sorted().map { .byName(name: $0) }
  }
}

// TESTS=DeliveryTests,Simulation builds and runs these test targets and what they need, without programs, emulator and
// doctor: everything takes minutes on a small machine. With TESTS=none there are no tests.
if let wanted = Context.environment["TESTS"]?.split(separator: ",").map(String.init) {
  var needed: Set<String> = []
  func need(_ name: String) {
    guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { return }
    for case .byNameItem(let dependency, _) in target.dependencies { need(dependency) }
  }
  // What FUZZ and BENCH add was asked for by its name.
  let extra = package.targets.filter { $0.path?.hasPrefix("Fuzz") == true || $0.path?.hasPrefix("Benchmarks") == true }
  for name in wanted + extra.map(\.name) { need(name) }
  package.targets.removeAll { !needed.contains($0.name) }
  package.products.removeAll { product in !needed.contains(product.name) }
}
