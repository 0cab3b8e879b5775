import Errand
import ErrandTesting
import Testing

@Suite(
    "A screen that lists what Django REST framework paginates",
    .takesTurns,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct BookListScreenTests {
    private static let titles = (1...137).map { "Book \($0)" }

    @Test(arguments: [
        ("/books/pages/", PageStrategyChoice.number), ("/books/offsets/", .offset), ("/books/cursor/", .cursor),
    ])
    func `Each pagination shows all 137 rows once, in their order`(
        _ path: String,
        _ choice: PageStrategyChoice
    ) async throws {
        let account = Account(name: "bob")
        let service = Backend.device(try await PythonServer.bookshopURL(), account: account)
        await withSharedProxy(APIProxy(service: service)) {
            let screen = BookListScreen(path: path, pages: choice.strategy)
            screen.appear()
            await screen.books.waitUntilIdle()
            while screen.canScroll, screen.alert == nil {
                screen.scrollToEnd()
                await screen.books.waitUntilIdle()
            }
            #expect(screen.alert == nil)
            #expect(screen.rows == Self.titles)
            #expect(account.loginCount == 1)
        }
    }

    @Test func `A token that is revoked while the list scrolls is renewed once, and no row is missing`() async throws {
        let account = Account(name: "carl")
        let service = Backend.device(try await PythonServer.bookshopURL(), account: account)
        try await withSharedProxy(APIProxy(service: service)) {
            let screen = BookListScreen(path: "/books/pages/", pages: PageStrategyChoice.number.strategy)
            screen.appear()
            await screen.books.waitUntilIdle()
            while screen.canScroll, screen.alert == nil {
                if screen.rows.count == 50 { try await APIRequest<Void>("/token/", method: .delete).value() }
                screen.scrollToEnd()
                await screen.books.waitUntilIdle()
            }
            #expect(screen.rows == Self.titles)
            #expect(account.loginCount == 2)
        }
    }

    @Test func `Screens that appear together without a token sign in once`() async throws {
        let account = Account(name: "gus")
        let service = Backend.device(try await PythonServer.bookshopURL(), account: account)
        await withSharedProxy(APIProxy(service: service)) {
            let screens = (1...5).map { _ in
                BookListScreen(path: "/books/offsets/", pages: PageStrategyChoice.offset.strategy)
            }
            for screen in screens { screen.appear() }
            for screen in screens { await screen.books.waitUntilIdle() }
            #expect(screens.allSatisfy { $0.rows == Array(Self.titles.prefix(25)) })
            #expect(account.loginCount == 1)
        }
    }

    @Test func `A login that fails ends the load with a notice, and a retry shows the rows`() async throws {
        let account = Account(name: "dora", password: "wrong")
        let service = Backend.device(try await PythonServer.bookshopURL(), account: account)
        await withSharedProxy(APIProxy(service: service)) {
            let screen = BookListScreen(path: "/books/offsets/", pages: PageStrategyChoice.offset.strategy)
            screen.appear()
            await screen.books.waitUntilIdle()
            #expect(screen.books.errorType == .loginExpired)
            #expect(account.notice == "Please sign in.")

            account.password = "correct horse"
            screen.retryButtonTapped()
            await screen.books.waitUntilIdle()
            #expect(screen.alert == nil && screen.rows == Array(Self.titles.prefix(25)))
        }
    }
}

/// The pagination of a list.
enum PageStrategyChoice {
    case number, offset, cursor

    var strategy: any PageStrategy {
        switch self {
        case .number: .pageNumber(sizeKey: "page_size", size: 50)
        case .offset: .offset(limit: 50)
        case .cursor: NextURLStrategy()
        }
    }
}

/// Follows the URL in the member `next` of a page.
struct NextURLStrategy: PageStrategy {
    var start: PagePosition { .start }

    func params(at position: PagePosition) throws(PageStrategyError) -> APIParams { [:] }

    func position(after page: PageInfo) -> PagePosition? {
        guard let next = try? JSONValue(json: page.response.body)["next"]?.string else { return nil }
        return page.link(to: next)
    }
}
