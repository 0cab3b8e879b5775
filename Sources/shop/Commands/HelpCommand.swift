import Foundation

/// `shop --help`: prints the usage.
@MainActor struct HelpCommand {
    private static let text = """
        usage: shop [--base-url URL] [--report FILE]
               shop serve [--port N]

        Walks through a shop as an app would, over real sockets, and shows each screen and what went over the wire.
        The exit status is 0 if every step held, 1 if one did not, and 64 if the arguments are wrong.

          --base-url URL   walk through the shop on that server; by default one is started on a free port
          --report FILE    write a report of all exchanges, one HTML page, also if a step did not hold
          serve            serve the shop's API, for use with curl, until interrupted
          --port N         the port to serve on; a free one by default
          --help, -h       show this text
        """

    /// Prints the text, and returns the exit status.
    func run() -> Int32 {
        Terminal().write(Self.text)
        return EXIT_SUCCESS
    }
}
