import ErrandTesting

/// A screen of the tests.
typealias Screen = RequestRecorder
