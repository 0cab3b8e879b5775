import Errand
import ErrandTesting
import TestSupport
import Testing

@Suite(
    "A screen that lists what Django REST framework paginates",
    .limitedConcurrency,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct BookListScreenTests {
    private static let titles = (1...137).map { "Book \($0)" }

    @Test(
        arguments: [
            ("/books/pages/", .djangoPageNumber(size: 50)), ("/books/offsets/", .djangoLimitOffset(limit: 50)),
            ("/books/cursor/", .djangoCursor),
        ] as [(String, any PageStrategy)]
    )
    func `Each pagination shows all 137 rows once, in their order`(
        _ path: String,
        _ pages: any PageStrategy
    ) async throws {
        let account = Account(name: "bob")
        let service = Backend.device(try await PythonServer.bookshopURL(), account: account)
        await withSharedProxy(APIProxy(service: service)) {
            let screen = BookListScreen(path: path, pages: pages)
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
            let screen = BookListScreen(path: "/books/pages/", pages: .djangoPageNumber(size: 50))
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
                BookListScreen(path: "/books/offsets/", pages: .djangoLimitOffset(limit: 50))
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
            let screen = BookListScreen(path: "/books/offsets/", pages: .djangoLimitOffset(limit: 50))
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

    @Test func `A book that is removed while its list is shown leaves no gap`() async throws {
        let service = Backend.web(try await PythonServer.bookshopURL())
        try await withSharedProxy(APIProxy(service: service)) {
            _ = try await APIRequest<User>("/session/").value()
            _ = try await SignInRequest().value(params: ["username": "bob", "password": "correct horse"])
            for number in 1...40 {
                let (title, isbn) = ("\(number)", "attic-\(number)")
                _ = try await SaveBookRequest().value(
                    params: ["shelf": "attic", "title": title, "isbn": isbn, "cents": number]
                )
            }
            let list = BookListScreen(path: "/books/offsets/", pages: .djangoLimitOffset(limit: 25), shelf: "attic")
            list.appear()
            await list.books.waitUntilIdle()

            let form = BookFormScreen(bookID: list.books.items[3].id)
            form.removeButtonTapped()
            await form.remove.waitUntilIdle()
            #expect(form.isClosed)
            try list.bookWasRemoved(id: list.books.items[3].id)
            while list.canScroll, list.alert == nil {
                list.scrollToEnd()
                await list.books.waitUntilIdle()
            }
            #expect(list.rows == (1...40).filter { $0 != 4 }.map(String.init))
        }
    }
}
