import Errand
import ErrandTesting
import TestSupport
import Testing

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
