import Errand
import Foundation

/// What is kept of an event.
enum RecordedEvent {
    case began
    case joined
    case waits(APIEvent.Reason)
    case request(RecordedRequest)
    case sent
    case head(RecordedHead)
    case response(RecordedResponse, RecordedExchange.State)
    case cached(RecordedResponse)
    case failed(RecordedError)
    case ended(RecordedError?, isSuccess: Bool)

    /// `nil` for an event that an archive does not contain.
    init?(_ kind: APIEvent.Kind, bodyLimit: Int) {
        switch kind {
        case .began: self = .began
        case .joined: self = .joined
        case .waiting(let reason, _): self = .waits(reason)
        case .renewed(let renewal): self = .waits(renewal == .login ? .login : .key)
        case .requestMade(let request): self = .request(RecordedRequest(request, bodyLimit: bodyLimit))
        case .sent: self = .sent
        case .headReceived(let status, let headers): self = .head(RecordedHead(status: status, headers: headers))
        case .redirected(let response): self = .response(RecordedResponse(response, bodyLimit: bodyLimit), .redirected)
        case .responded(let response): self = .response(RecordedResponse(response, bodyLimit: bodyLimit), .responded)
        case .respondedFromCache(let response): self = .cached(RecordedResponse(response, bodyLimit: bodyLimit))
        case .failed(let error): self = .failed(RecordedError(error))
        case .ended(.failure(let error)): self = .ended(RecordedError(error), isSuccess: false)
        case .ended(.cancelled): self = .ended(nil, isSuccess: false)
        case .ended(.success): self = .ended(nil, isSuccess: true)
        case .queued, .started, .missedCache, .decodedLeniently, .tryingAgain, .released: return nil
        }
    }
}

/// What is kept of an error, which has a whole response.
struct RecordedError {
    let type: APIErrorType
    /// Its description, which contains no secrets.
    let text: String
    let timings: ExchangeTimings?

    init(_ error: APIError) {
        (type, text, timings) = (error.type, "\(error)", error.timings)
    }
}
