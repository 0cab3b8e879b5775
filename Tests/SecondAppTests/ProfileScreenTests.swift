import Errand
import ErrandTesting
import Foundation
import TestSupport
import Testing

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
