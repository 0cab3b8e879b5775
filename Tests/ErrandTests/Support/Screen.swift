import ErrandTesting

/// A screen for tests.
typealias Screen = RequestRecorder
