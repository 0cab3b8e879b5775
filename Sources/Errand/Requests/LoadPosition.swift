/// Which part of a list a load asks for; requests without pages are always at their start.
enum LoadPosition {
    /// The first page, which replaces the list.
    case start
    /// The first of all pages that are loaded, which together replace the list.
    case all
    /// One of the others of them.
    case rest
    /// The page behind the list.
    case next
    /// The same, asked for by a row that appeared.
    case prefetch
    /// The page in front of the list.
    case previous
}
