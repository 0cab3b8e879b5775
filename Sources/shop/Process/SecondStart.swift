import Foundation

/// A second start of the app's executable.
struct SecondStart {
    let baseURL: URL
    let cookieFile: URL

    /// Runs `shop resume` to its end, with the same standard streams, and returns its exit status.
    func run() async throws -> Int32 {
        #if os(macOS) || os(Linux)
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = ["resume", "--base-url", baseURL.absoluteString, "--cookies", cookieFile.path]
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        #else
        throw StepFailure("this platform allows no child processes")
        #endif
    }

    private static var executable: URL? {
        #if os(Linux)
        URL(filePath: "/proc/self/exe")
        #else
        Bundle.main.executableURL
        #endif
    }
}
