import ErrandInspector
import Foundation

@testable import Errand

/// Strings that break programs which insert them without care.
enum HostileStrings {
    static let own = [
        "</script><script>document.hacked=1</script>", "<img src=x onerror=document.hacked=1>",
        "\"><svg onload=document.hacked=1>", "' autofocus onfocus='document.hacked=1", "--><script>document.hacked=1//",
        "]]><script>document.hacked=1</script>", "</title></style></pre><script>document.hacked=1</script>",
        "line\u{2028}paragraph\u{2029}end", "\u{1B}[31mred\u{1B}]0;title\u{07}", "a\u{0}b\u{7F}\u{85}c",
        "\u{202E}reversed",
        "javascript:document.hacked=1", "&lt;b&gt;&amp;&#0;", "${document.hacked=1}`", "\\u003cscript\\u003e",
        "\r\n\r\n",
        "\u{FEFF}\u{FFFE}\u{10FFFF}", "😀👩‍👩‍👧‍👦é",
    ]
}

extension Session {
    /// Sends exchanges with hostile strings in every place, and returns their number.
    func respondWithHostileStrings() throws -> Int {
        let strings = HostileStrings.own + (try SharedData.strings())
        for (index, text) in strings.enumerated() {
            let query = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            // A header from the wire may contain any bytes.
            let headers = HTTPHeaders([
                HTTPField("Content-Type", bytes: Array(text.utf8)), HTTPField(text, "value"),
                HTTPField("Server", text), HTTPField("Set-Cookie", "\(text)=\(text); Path=\(text); Expires=\(text)"),
                HTTPField("Location", text), HTTPField("Cookie", text),
            ])
            let url = URL.shop("/\(query)?\(query)=\(query)")
            let method = HTTPMethod(rawValue: text)
            let request = HTTPRequest(method, url, headers: headers, body: .data(Data(text.utf8)))
            var response = HTTPResponse(status: 300, headers: headers, body: Data(text.utf8))
            var timings = ExchangeTimings(startedAt: Date(), total: .milliseconds(index))
            (timings.protocolName, timings.connectionID) = (text, text)
            response.timings = timings
            let load = UInt64(index + 1)
            respond(request, response, load: load, at: index)
            send(.ended(.failure(APIError(.invalidResponse, reason: text))), load: load, at: index + 1)
        }
        return strings.count
    }
}
