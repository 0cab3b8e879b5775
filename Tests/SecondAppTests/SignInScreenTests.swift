import Errand
import ErrandTesting
import TestSupport
import Testing

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
