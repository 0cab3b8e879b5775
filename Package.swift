// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Why `Errand` reads the times of files, which the App Store asks for.
#if os(macOS)
let (privacy, unusedFiles): ([Resource], [String]) = ([.copy("PrivacyInfo.xcprivacy")], [])
#else
let (privacy, unusedFiles): ([Resource], [String]) = ([], ["PrivacyInfo.xcprivacy"])
#endif

/// Programs that tests start, where the platform allows child processes.
func programs(_ names: String...) -> [Target.Dependency] {
    names.map { .target(name: $0, condition: .when(platforms: [.macOS, .linux])) }
}

/// The tests of one folder of `Errand`, or those that remain.
///
/// They are several targets, because a part of the compiler's time grows with the square of a target's size.
func errandTests(of folder: String? = nil, exclude: [String] = []) -> Target {
    .testTarget(
        name: "Errand\(folder ?? "")Tests",
        dependencies: [
            "Errand", "ErrandImages", "ErrandSigning", "ErrandTesting", "ErrandTestSupport", "ErrandUI",
            "FixtureServer", "TestSupport",
        ] + programs("cookie-probe", "errand-bench"),
        path: "Tests/ErrandTests" + (folder.map { "/\($0)" } ?? ""),
        exclude: exclude,
        swiftSettings: strict
    )
}

let package = Package(
    name: "errand",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Errand", targets: ["Errand"]),
        .library(name: "ErrandImages", targets: ["ErrandImages"]),
        .library(name: "ErrandUI", targets: ["ErrandUI"]),
        .library(name: "ErrandTesting", targets: ["ErrandTesting"]),
        .library(name: "ErrandSigning", targets: ["ErrandSigning"]),
        .library(name: "ErrandInspector", targets: ["ErrandInspector"]),
    ],
    targets: [
        .target(
            name: "Errand",
            dependencies: ["CurlRuntime"],
            exclude: unusedFiles,
            resources: privacy,
            swiftSettings: strict
        ),
        .target(name: "ErrandImages", dependencies: ["Errand"], swiftSettings: strict),
        .target(name: "ErrandUI", dependencies: ["Errand", "ErrandImages"], swiftSettings: strict),
        .target(name: "ErrandTesting", dependencies: ["Errand"], swiftSettings: strict),
        .target(name: "CurlRuntime", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "ErrandSigning", dependencies: ["Errand", "CryptoRuntime"], swiftSettings: strict),
        .target(name: "ErrandInspector", dependencies: ["Errand"], swiftSettings: strict),
        .target(name: "CryptoRuntime", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        // For hashes and the cipher of sealed calls, and for the lock in builds for the thread sanitizer.
        .target(name: "FixtureServer", dependencies: ["Errand", "ErrandSigning"], swiftSettings: strict),
        .executableTarget(
            name: "shop",
            dependencies: ["Errand", "ErrandImages", "ErrandInspector", "ErrandSigning", "FixtureServer"],
            swiftSettings: strict
        ),
        .executableTarget(name: "goods", dependencies: ["Errand", "FixtureServer"], swiftSettings: strict),
        .executableTarget(
            name: "errand-bench",
            dependencies: [
                "Errand", "ErrandImages", "ErrandInspector", "ErrandSigning", "ErrandTesting", "ErrandUI",
                "FixtureServer",
                "CurlRuntime",
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "cookie-probe",
            dependencies: ["Errand", "ErrandInspector"],
            path: "Tests/Programs/cookie-probe",
            swiftSettings: strict
        ),
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
        .target(name: "TestSockets", path: "Tests/TestSockets"),
        // A test target, because it uses internal declarations.
        .testTarget(
            name: "ErrandTestSupport",
            dependencies: ["Errand", "ErrandTesting", "FixtureServer", "TestSockets", "TestSupport"]
                + programs("cookie-probe"),
            path: "Tests/ErrandTests/Support",
            swiftSettings: strict
        ),
        errandTests(
            exclude: ["Support", "Documentation/Prelude.txt"]
                + ["Cache", "Cookies", "Lists", "Proxy", "Requests", "Service", "Transport"]
        ),
        errandTests(of: "Cache"),
        errandTests(of: "Cookies"),
        errandTests(of: "Lists"),
        errandTests(of: "Proxy"),
        errandTests(of: "Requests"),
        errandTests(of: "Service"),
        errandTests(of: "Transport"),
        .testTarget(
            name: "ErrandSigningTests",
            dependencies: ["ErrandSigning", "Errand", "ErrandTesting", "FixtureServer", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ErrandInspectorTests",
            dependencies: [
                "ErrandInspector", "Errand", "ErrandTesting", "FixtureServer", "TestSupport",
            ] + programs("cookie-probe"),
            exclude: ["Programs"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "ErrandImagesTests",
            dependencies: [
                "ErrandImages", "Errand", "ErrandTesting", "ErrandTestSupport", "ErrandUI", "FixtureServer",
                "TestSupport",
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "FixtureServerTests",
            dependencies: ["Errand", "ErrandSigning", "FixtureServer", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SecondAppTests",
            dependencies: ["Errand", "ErrandTesting", "TestSupport"],
            exclude: ["Server"],
            // As in a new app project.
            swiftSettings: strict + [
                .defaultIsolation(MainActor.self), .enableUpcomingFeature("InferIsolatedConformances"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
