import Foundation
import Testing

@testable import ErrandImages

@Suite("Headers of SVG", .timeLimit(.minutes(5)))
struct SVGHeaderTests {
    private static func size(_ text: String) throws -> [Int] {
        let header = try ImageHeader(of: Data(text.utf8))
        #expect(header.format == .svg && header.frames == 1 && header.orientation == .up)
        return [header.width, header.height]
    }

    @Test(arguments: [
        ("width='61' height=\"37\"", [61, 37]), ("width = '61px'\n\theight='37PX'", [61, 37]),
        ("width='2.54cm' height='25.4mm'", [96, 96]), ("width='1in' height='101.6Q'", [96, 96]),
        ("width='72pt' height='6pc'", [96, 96]), ("width='1e2' height='+.5E1px'", [100, 5]),
        ("width='10.2' height='0.1'", [11, 1]), ("width=' 61 ' height='37'", [61, 37]),
        ("width='61' height='37' viewBox='0 0 1 1'", [61, 37]), ("viewBox='0 0 61 37'", [61, 37]),
        ("viewBox='-5,-5, 61.0,37'", [61, 37]), ("width='100%' height='100%' viewBox='0 0 61 37'", [61, 37]),
        ("width='10em' viewBox='0 0 61 37'", [61, 37]), ("width='122' viewBox='0 0 61 37'", [122, 74]),
        ("height='74' viewBox='0 0 61 37'", [122, 74]), ("width=' auto' height='37' viewBox='0 0 61 37'", [61, 37]),
        ("", [300, 150]), ("width='61'", [61, 150]), ("height='37'", [300, 37]), ("viewBox='0 0 61'", [300, 150]),
        ("viewBox='0 0 0x10 0x10'", [300, 150]), ("stroke-width='1' data-height='2' x:width='3'", [300, 150]),
        ("title='width=\"5\" > >' width='61' height='37'", [61, 37]), ("width='10 20' height='37'", [300, 37]),
    ]) func `Lengths and the view box are the size`(_ attributes: String, _ size: [Int]) throws {
        #expect(try Self.size(svg(attributes)) == size)
    }

    @Test(arguments: [
        "\u{FEFF}", " \r\n\t", "<?xml version=\"1.0\" encoding='UTF-8'?>\n", "<!-- <svg width='1'> - -- > -->",
        "<!---->",
        "<?xml-stylesheet href='a>b'?>",
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">",
        "<!DOCTYPE svg [ <!ENTITY a \"]>\"> <!-- don't ]> --> <?p ' ?> <!ENTITY b 'c'> ]>",
        "\u{FEFF}<?xml version='1.0'?><!-- a --><!DOCTYPE svg><!-- b -->\n",
    ]) func `What precedes the first element is skipped`(_ start: String) throws {
        let text = svg("width='61' height='37'", before: start)
        #expect(try Self.size(text) == [61, 37])
        #expect(HeaderChecks.violation(byCutsOf: Array(text.utf8)) == nil)
    }

    @Test func `The element may have a prefix, no attributes and no content`() throws {
        #expect(try Self.size("<s:svg width='61' height='37'/>") == [61, 37])
        #expect(try Self.size("<svg/>") == [300, 150])
        #expect(try Self.size("<svg>") == [300, 150])
    }

    @Test(arguments: [
        "width='0'", "width='-1'", "width='1e999'", "width='2147483648'", "width='1e9in'", "viewBox='0 0 0 0'",
        "viewBox='0 0 -1 5'", "width='5' viewBox='0 0 0 1'", "width=5", "width", "width='5' =", "'5'",
    ]) func `A size that is not positive, too large or malformed is damaged`(_ attributes: String) {
        let error = #expect(throws: ImageError.self) { try Self.size(svg(attributes)) }
        guard case .damaged(.svg, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `A start tag that does not end within 64 KiB is refused`() throws {
        let long = svg("width='61' height='37'", before: "<!--" + String(repeating: "-", count: 65_000) + "-->")
        #expect(try Self.size(long) == [61, 37])
        let comment = svg("", before: "<!--" + String(repeating: "a", count: 65_536) + "-->")
        #expect(throws: ImageError.unknownFormat) { try Self.size(comment) }
        #expect(throws: ImageError.unknownFormat) { try ImageHeader.probe(comment.utf8) }
        let attribute = "a='\(String(repeating: "a", count: 65_536))'"
        let error = #expect(throws: ImageError.self) { try Self.size(svg(attribute)) }
        guard case .damaged(.svg, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `A slow start at least doubles`() throws {
        let bytes = Array(svg("", before: "<!--" + String(repeating: "a", count: 60_000)).utf8)
        for count in [0, 1, 300, 1000, 30_000] {
            guard case .needsBytes(let needed) = try ImageHeader.probe(bytes.prefix(count)) else {
                Issue.record("\(count)")
                continue
            }
            #expect(needed >= 2 * count)
        }
    }
}
