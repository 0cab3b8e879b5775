@testable import Errand
@testable import ErrandTestSupport

/// Compares one response, and the request that the server has received for it, with what the suite expects.
///
/// The checks have the order of the suite's own client, whose first failure is that of the case.
struct CacheSuiteCheck {
    private let step: CacheSuite.Step
    private let number: Int
    private let response: CacheSuiteResponse

    /// `number` counts from 1.
    init(_ step: CacheSuite.Step, number: Int, _ response: CacheSuiteResponse) {
        (self.step, self.number, self.response) = (step, number, response)
    }

    /// Checks the response, whose body is `body` unless the step has another one.
    func check(body: String) throws(CacheSuiteFailure) {
        try checkNumbers()
        try checkType()
        try checkStatus()
        for header in step.expectedResponseHeaders ?? [] { try check(present: header) }
        for header in step.expectedResponseHeadersMissing ?? [] { try check(missing: header) }
        if let expected = step.expectedInterimResponses { try checkInterimResponses(expected) }
        try checkBody(or: body)
    }

    private func check(
        _ condition: Bool,
        _ check: String,
        _ message: @autoclosure () -> String
    ) throws(CacheSuiteFailure) {
        try CacheSuiteFailure.check(condition, setup: step.isSetup(check), message())
    }

    /// For what fails only if nothing is tested.
    private func checkSetup(_ condition: Bool, _ message: @autoclosure () -> String) throws(CacheSuiteFailure) {
        try CacheSuiteFailure.check(condition, setup: true, message())
    }

    // MARK: The response

    /// A request that was sent twice.
    private func checkNumbers() throws(CacheSuiteFailure) {
        let numbers = response["Request-Numbers"]?.split(separator: " ") ?? []
        try checkSetup(Set(numbers).count == numbers.count, "retry")
    }

    private func checkType() throws(CacheSuiteFailure) {
        let count = response.serverCount
        switch step.expectedType {
        case .cached where response.status != 304 || count != nil:
            let isCached = count.map { $0 < number } == true
            try check(isCached, "expected_type", "Response \(number) does not come from cache")
        case .notCached:
            try check(count == number, "expected_type", "Response \(number) comes from cache")
        default:
            break
        }
    }

    private func checkStatus() throws(CacheSuiteFailure) {
        let status = response.status
        let shown = status.map { String($0) } ?? "missing"
        switch (step.expectedStatus, step.responseStatus?.code) {
        case (.any, _):
            break
        case (.exactly(let expected), _):
            try check(status == expected, "expected_status", "Response \(number) status is \(shown), not \(expected)")
        case (.unstated, let expected?):
            try checkSetup(status == expected, "Response \(number) status is \(shown), not \(expected)")
        case (.unstated, nil):
            let message = "Request \(number) should have been conditional, but it was not."
            try check(status != 999, "expected_type", message)
            try checkSetup(status == 200, "Response \(number) status is \(shown), not 200")
        }
    }

    private func check(present expectation: CacheSuite.HeaderExpectation) throws(CacheSuiteFailure) {
        let name = expectation.name
        let value = response[name]
        let shown = "Response \(number) header \(name) is \"\(value ?? "null")\""
        if case .value(let header) = expectation {
            let base = response["Server-Base-Url"]
            let now = response["Server-Now"]?.leadingNumber
            let expected = header.resolved(by: step, now: now, base: base).text
            try check(value == expected, "expected_response_headers", "\(shown), not \"\(expected)\"")
            return
        }
        try check(value != nil, "expected_response_headers", "Response \(number) \(name) header not present.")
        switch expectation {
        case .name, .value:
            break
        case .sameValue(_, let other):
            let expected = response[other]
            let message = "\(shown), should match \(other) (\(expected ?? "null"))"
            try check(value == expected, "expected_response_headers", message)
        case .greater(_, let limit):
            let isGreater = value?.leadingNumber.map { $0 > limit } == true
            try check(isGreater, "expected_response_headers", "\(shown), should be bigger than \(limit)")
        }
    }

    /// As documented; the suite's own client never finds the value.
    private func check(missing expectation: CacheSuite.HeaderExpectation) throws(CacheSuiteFailure) {
        guard let value = response[expectation.name] else { return }
        let kind = "expected_response_headers_missing"
        if case .value(let header) = expectation {
            let message = "Response \(number) header \(header.name) still has value \"\(value)\""
            try check(!value.contains(header.text), kind, message)
        } else {
            try check(false, kind, "Response \(number) includes unexpected header \(expectation.name): \"\(value)\"")
        }
    }

    /// Also compares the values, of which the suite's own client compares only the names.
    private func checkInterimResponses(_ expected: [CacheSuite.InterimResponse]) throws(CacheSuiteFailure) {
        let kind = "expected_interim_responses"
        let received = response.interimResponses
        for (index, expected) in expected.enumerated() {
            let title = "Interim response \(index + 1)"
            guard received.indices.contains(index) else { return try check(false, kind, "\(title) not received") }
            let (status, headers) = received[index]
            try check(status == expected.status, kind, "\(title) status is \(status), not \(expected.status)")
            for header in expected.headers {
                let values = headers.values(header.name)
                let message = "\(title) header \(header.name) is \(values), not \"\(header.text)\""
                try check(values == [header.text], kind, message)
            }
        }
        let message = "Received \(received.count) interim response(s), expected \(expected.count)"
        try check(received.count == expected.count, kind, message)
    }

    private func checkBody(or standard: String) throws(CacheSuiteFailure) {
        guard step.checkBody != false else { return }
        let message = { (expected: String) in "Response body is \"\(response.body)\", not \"\(expected)\"" }
        switch (step.expectedResponseText, step.responseBody) {
        case (.any, _):
            break
        case (.exactly(let expected), _):
            try check(response.body == expected, "expected_response_text", message(expected))
        case (.unstated, let expected?):
            try checkSetup(response.body == expected, message(expected))
        case (.unstated, nil):
            let hasBody = response.status != 204 && response.status != 304 && step.requestMethod != "HEAD"
            try checkSetup(!hasBody || response.body == standard, message(standard))
        }
    }

    // MARK: The request

    /// Checks the request that the server has received; `nil` if it has received none.
    func check(_ arrival: CacheSuiteResource.Arrival?) throws(CacheSuiteFailure) {
        if step.expectedType == .notCached {
            let arrival = try received(arrival)
            let shown = arrival.number.map { String($0) } ?? "null"
            let message = "Response \(number) comes from cache (\(shown) on server)"
            try check(arrival.number == number, "expected_type", message)
        }
        if let condition = step.expectedType?.condition {
            try check(arrival != nil, "expected_type", "request \(number) wasn't sent to server")
            let isConditional = arrival?.headers[condition] != nil
            try check(isConditional, "expected_type", "request \(number) doesn't have \(condition) header")
        }
        for header in step.expectedRequestHeaders ?? [] {
            try check(header, of: try received(arrival), isMissing: false)
        }
        for header in step.expectedRequestHeadersMissing ?? [] {
            try check(header, of: try received(arrival), isMissing: true)
        }
        for header in arrival?.expectedHeaders ?? [] { try check(received: header) }
        guard let method = step.expectedMethod else { return }
        let sent = try received(arrival).method
        try check(sent == method, "expected_method", "Request \(number) had method \(sent), not \(method)")
    }

    /// What the suite's own client reads of a request that there is not.
    private func received(
        _ arrival: CacheSuiteResource.Arrival?
    ) throws(CacheSuiteFailure) -> CacheSuiteResource.Arrival {
        guard let arrival else { throw .error("Request \(number) has not reached the server") }
        return arrival
    }

    private func check(
        _ expectation: CacheSuite.HeaderExpectation,
        of arrival: CacheSuiteResource.Arrival,
        isMissing: Bool
    ) throws(CacheSuiteFailure) {
        let value = arrival.headers[expectation.name.lowercased()]
        let kind = isMissing ? "expected_request_headers_missing" : "expected_request_headers"
        let title = "Request \(number) header \(expectation.name) is \"\(value ?? "undefined")\""
        if case .value(let header) = expectation {
            let isEqual = value == header.text
            try check(isEqual != isMissing, kind, isMissing ? title : "\(title), not \"\(header.text)\"")
        } else {
            try check((value == nil) == isMissing, kind, isMissing ? title : "\(title), and should be present")
        }
    }

    /// A line that the server has sent; not the date, which a cache may change.
    private func check(received line: (name: String, value: String)) throws(CacheSuiteFailure) {
        guard line.name.lowercased() != "date" else { return }
        let value = response[line.name]
        let message = "Response \(number) header \(line.name) is \"\(value ?? "null")\", not \"\(line.value)\""
        try checkSetup(value == line.value, message)
    }
}
