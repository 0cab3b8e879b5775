extension PageStrategy where Self == PageNumberStrategy {
    /// Pages of Django REST framework's `PageNumberPagination`: `?page=2`, with an exact `count`.
    ///
    /// ``PageModel`` is a page of it. `page_size` has an effect if the server's `page_size_query_param` has this name.
    ///
    /// - Parameter size: The number of items to request per page; 20 by default.
    /// - Returns: The strategy.
    public static func djangoPageNumber(size: Int = 20) -> Self {
        .pageNumber(sizeKey: "page_size", size: size, totalIsExact: true)
    }
}

extension PageStrategy where Self == OffsetStrategy {
    /// Pages of Django REST framework's `LimitOffsetPagination`: `?limit=20&offset=40`, with an exact `count`.
    ///
    /// ``PageModel`` is a page of it.
    ///
    /// - Parameter limit: The number of items to request per page; 20 by default.
    /// - Returns: The strategy.
    public static func djangoLimitOffset(limit: Int = 20) -> Self {
        .offset(limit: limit, totalIsExact: true)
    }
}

extension PageStrategy where Self == LinkStrategy {
    /// Pages of Django REST framework's `CursorPagination`: the URLs `next` and `previous` in the body.
    ///
    /// ``PageModel`` is a page of it. Follows the links of the two other paginations as well.
    public static var djangoCursor: Self { .link(next: .body("next"), previous: .body("previous")) }
}
