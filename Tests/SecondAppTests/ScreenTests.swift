import Errand
import ErrandTesting
import Foundation
import Testing
import TestSupport

@Suite(
    "A screen with a form that Django REST framework validates",
    .limitedConcurrency,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct BookFormScreenTests {
    /// Runs a test with the form, signed in.
    private func withForm(bookID: Int? = nil, _ test: @MainActor (BookFormScreen) async throws -> Void) async throws {
        let service = Backend.web(try await PythonServer.bookshopURL())
        try await withSharedProxy(APIProxy(service: service)) {
            _ = try await APIRequest<User>("/session/").value()
            _ = try await SignInRequest().value(params: ["username": "emil", "password": "correct horse"])
            try await test(BookFormScreen(bookID: bookID))
        }
    }

    @Test func `The messages of a 400 response are shown beside their fields`() async throws {
        try await withForm { form in
            form.isbn = "main-1"
            form.saveButtonTapped()
            await form.save.waitUntilIdle()
            #expect(
                form.messages == [
                    "title": "This field may not be blank.",
                    "isbn": "book with this isbn already exists.",
                    "cents": "Ensure this value is greater than or equal to 1.",
                ]
            )
            #expect(form.alert == nil && form.bookID == nil)
        }
    }

    @Test func `A book is added, changed and removed`() async throws {
        try await withForm { form in
            (form.title, form.isbn, form.cents) = ("Träume & Schäume", "draft-1", 990)
            form.saveButtonTapped()
            await form.save.waitUntilIdle()
            let id = try #require(form.bookID)

            form.cents = 1_290
            form.saveButtonTapped()
            await form.save.waitUntilIdle()
            #expect(form.bookID == id && form.messages.isEmpty && form.alert == nil)
            let book = try await APIRequest<Book>("/books/{id}/", params: ["id": id]).value()
            #expect(book == Book(id: id, title: "Träume & Schäume", isbn: "draft-1", cents: 1_290))

            form.removeButtonTapped()
            await form.remove.waitUntilIdle()
            #expect(form.isClosed)
            form.saveButtonTapped()
            await form.save.waitUntilIdle()
            #expect(form.save.error?.status == 404 && form.alert == "No Book matches the given query.")
        }
    }

    @Test func `Without a session the server refuses, and its detail is shown`() async throws {
        let service = Backend.web(try await PythonServer.bookshopURL())
        await withSharedProxy(APIProxy(service: service)) {
            let form = BookFormScreen()
            form.saveButtonTapped()
            await form.save.waitUntilIdle()
            #expect(form.alert == "Authentication credentials were not provided.")
        }
    }

    @Test func `A 403 response shows its detail`() async throws {
        try await withForm(bookID: 3) { form in
            form.removeButtonTapped()
            await form.remove.waitUntilIdle()
            #expect(form.alert == "Only drafts can be edited.")
            #expect(!form.isClosed)
        }
    }

    @Test func `The banner shows the errors of all requests but those of the form`() async throws {
        let banner = Banner()
        try await withForm(bookID: 4) { form in
            form.save.proxy.errorPresenter = banner
            form.saveButtonTapped()
            await form.save.waitUntilIdle()
            form.removeButtonTapped()
            await form.remove.waitUntilIdle()
        }
        #expect(banner.texts == ["Only drafts can be edited."])
    }
}

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

@Suite(
    "A screen that uploads, and redeems coupons of another backend",
    .limitedConcurrency,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct ProfileScreenTests {
    /// Runs a test with the screen, signed in at the bookshop.
    private func withScreen(_ test: (ProfileScreen) async throws -> Void) async throws {
        let server = try await PythonServer.bookshopURL()
        try await withSharedProxy(APIProxy(service: Backend.web(server))) {
            _ = try await APIRequest<User>("/session/").value()
            _ = try await SignInRequest().value(params: ["username": "ada", "password": "correct horse"])
            try await test(ProfileScreen(coupons: Backend.coupons(server)))
        }
    }

    @Test func `A picture is uploaded with its caption, and its progress never decreases`() async throws {
        let picture = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).png")
        try Data(repeating: 7, count: 300_000).write(to: picture)
        defer { try? FileManager.default.removeItem(at: picture) }
        try await withScreen { screen in
            screen.pictureChosen(picture)
            await screen.upload.waitUntilIdle()
            #expect(screen.alert == nil)
            #expect(screen.caption == "Me & my books: \(picture.lastPathComponent), image/png, 300000 bytes")
            // How many reports there are is not certain: a busy main actor receives the newest alone, which may be the response's.
            #expect(screen.uploadedBytes == screen.uploadedBytes.sorted())
        }
    }

    @Test func `A coupon is added with the server's message, and refused with the text of its code`() async throws {
        try await withScreen { screen in
            screen.couponEntered("SPRING")
            await screen.redeem.waitUntilIdle()
            #expect(screen.coupons == ["SPRING 10%"])
            #expect(screen.notice == "The coupon has been added.")
            #expect(screen.redeem.serverCode == "OK")

            screen.couponEntered("SUMMER")
            await screen.redeem.waitUntilIdle()
            #expect(screen.alert == "This coupon has expired.")
            #expect(screen.redeem.error?.code == "E1001" && screen.redeem.errorType == .server)

            screen.couponEntered("")
            await screen.redeem.waitUntilIdle()
            #expect(screen.alert == "Please enter a coupon.")
            #expect(screen.coupons == ["SPRING 10%"])
        }
    }

    @Test func `The price of shipping is a property list in both directions`() async throws {
        let coupons = Backend.coupons(try await PythonServer.bookshopURL())
        try await withSharedProxy(APIProxy(service: coupons)) {
            let price = APIRequest<[String: Int]>(
                "/shipping/",
                method: .post,
                requestSerializer: .custom(contentType: "application/x-plist") { params in
                    .data(try PropertyListEncoder().encode(params))
                },
                responseSerializer: .decoded(by: PropertyListDecoder()),
                options: .init(envelope: .wholeBody)
            )
            let value = try await price.value(params: ["grams": 1_200])
            #expect(value == ["cents": 420])
        }
    }
}

@Suite(
    "A screen that signs in at Django REST framework",
    .limitedConcurrency,
    .timeLimit(.minutes(5)),
    .enabled(if: PythonServer.isInstalled, PythonServer.absence)
)
@MainActor struct SignInScreenTests {
    @Test func `A user signs in with a session cookie and the CSRF header, and signs out`() async throws {
        let service = Backend.web(try await PythonServer.bookshopURL())
        await withSharedProxy(APIProxy(service: service)) {
            let screen = SignInScreen()
            screen.appear()
            await screen.session.waitUntilIdle()
            #expect(screen.greeting == "Please sign in.")

            (screen.name, screen.password) = ("ada", "correct horse")
            screen.signInButtonTapped()
            await screen.signIn.waitUntilIdle()
            #expect(screen.greeting == "Hello, ada!")

            screen.appear()
            await screen.session.waitUntilIdle()
            #expect(screen.greeting == "Hello, ada!")

            // The server has changed the CSRF cookie with the login.
            screen.signOutButtonTapped()
            await screen.signOut.waitUntilIdle()
            #expect(screen.greeting == "Goodbye." && screen.alert == nil)

            screen.appear()
            await screen.session.waitUntilIdle()
            #expect(screen.greeting == "Please sign in.")
        }
    }

    @Test func `A wrong password shows the message of the server`() async throws {
        let service = Backend.web(try await PythonServer.bookshopURL())
        await withSharedProxy(APIProxy(service: service)) {
            let screen = SignInScreen()
            screen.appear()
            await screen.session.waitUntilIdle()
            (screen.name, screen.password) = ("ada", "wrong")
            screen.signInButtonTapped()
            await screen.signIn.waitUntilIdle()
            #expect(screen.alert == "Unable to log in with provided credentials.")
        }
    }

    @Test func `Without the CSRF cookie the server refuses, and its page of HTML is not shown`() async throws {
        let service = Backend.web(try await PythonServer.bookshopURL())
        await withSharedProxy(APIProxy(service: service)) {
            let screen = SignInScreen()
            (screen.name, screen.password) = ("ada", "correct horse")
            screen.signInButtonTapped()
            await screen.signIn.waitUntilIdle()
            #expect(screen.signIn.error?.status == 403)
            #expect(screen.alert?.isEmpty == false && screen.alert?.contains("<") == false)
        }
    }

    @Test func `Code that is no delegate observes every ending`() async throws {
        let proxy = APIProxy(service: Backend.web(try await PythonServer.bookshopURL()))
        let endings = proxy.endings
        await withSharedProxy(proxy) {
            let screen = SignInScreen()
            screen.appear()
            await screen.session.waitUntilIdle()
            (screen.name, screen.password) = ("ada", "wrong")
            screen.signInButtonTapped()
            await screen.signIn.waitUntilIdle()
        }
        var lines: [String] = []
        for await load in endings {
            if case .failure(let error) = load.ending {
                lines.append("\(load.path) failed with \(error.status ?? 0)")
            } else {
                lines.append("\(load.path) succeeded")
            }
            if lines.count == 2 { break }
        }
        #expect(lines == ["/session/ succeeded", "/session/ failed with 400"])
    }
}
