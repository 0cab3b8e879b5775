import Foundation
import Testing

@testable import Errand
@testable import ErrandTestSupport

@Suite("Multipart bodies follow RFC 7578", .timeLimit(.minutes(10)))
struct MultipartFormTests {
    private func text(_ body: HTTPBody) throws -> String {
        try body.pieces.map { piece in
            switch piece {
            case .data(let data): String(decoding: data, as: UTF8.self)
            case .file(let url): String(decoding: try Data(contentsOf: url), as: UTF8.self)
            case .stream(let stream): "\(stream)"
            }
        }.joined()
    }

    @Test func `Fields are first, then parts from memory and from files`() throws {
        let file = try TemporaryFile(Data("from a file".utf8))
        var form = MultipartForm()
        form.append(Data("from memory".utf8), name: "note", contentType: "text/plain")
        form.append(file: file.url, name: "file", filename: "头像.txt")
        let body = try form.body(fields: [(name: "id", value: "7")])
        let boundary = form.boundary
        #expect(
            try text(body) == """
                --\(boundary)\r
                Content-Disposition: form-data; name="id"\r
                \r
                7\r
                --\(boundary)\r
                Content-Disposition: form-data; name="note"\r
                Content-Type: text/plain\r
                \r
                from memory\r
                --\(boundary)\r
                Content-Disposition: form-data; name="file"; filename="头像.txt"\r
                Content-Type: text/plain\r
                \r
                from a file\r
                --\(boundary)--\r

                """
        )
        #expect(body.pieces.contains(.file(file.url)), "a file is not read")
    }

    @Test(arguments: [
        ("a.jpg", "image/jpeg"), ("a.PDF", "application/pdf"), ("a.unknown", "application/octet-stream"),
    ])
    func `A part has the type of its file name unless it is given one`(_ name: String, _ type: String) throws {
        let file = URL(filePath: "/tmp/\(name)")
        var form = MultipartForm()
        form.append(Data(), name: "a", filename: name)
        form.append(file: file, name: "b")
        form.append(file: URL(filePath: "/tmp/b.bin"), name: "c", filename: name)
        #expect(form.parts.map(\.contentType) == [type, type, type])
        form = MultipartForm()
        form.append(file: file, name: "a", filename: "without an extension")
        #expect(form.parts.map(\.contentType) == [type])
        form = MultipartForm()
        form.append(Data(), name: "a", filename: name, contentType: "a/b")
        form.append(file: file, name: "b", contentType: "a/b")
        form.append(Data(), name: "c")
        #expect(form.parts.map(\.contentType) == ["a/b", "a/b", nil])
    }

    @Test func `A quote in a name is escaped as browsers do`() throws {
        var form = MultipartForm()
        form.append(Data(), name: #"a"b"#, filename: #"c"d.txt"#)
        #expect(try text(form.body(fields: [])).contains(#"name="a%22b"; filename="c%22d.txt""#))
        var combined = MultipartForm()
        combined.append(Data(), name: "f", filename: "x\"\u{301}; name=admin")
        #expect(try text(combined.body(fields: [])).contains("filename=\"x%22\u{301}; name=admin\""))
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\nb", "a\u{0}b", "a\u{7F}b"])
    func `A control character in a name, file name or type is refused`(_ text: String) {
        for (name, filename, type) in [(text, "f", "t/t"), ("n", text, "t/t"), ("n", "f", text)] {
            var form = MultipartForm()
            form.append(Data(), name: name, filename: filename, contentType: type)
            let error = #expect(throws: APIError.self) { try form.body(fields: []) }
            #expect(error?.type == .invalidRequest)
        }
    }

    @Test func `Two forms never share a boundary`() {
        #expect(MultipartForm().boundary != MultipartForm().boundary)
    }
}
