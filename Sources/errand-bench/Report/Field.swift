/// The fields of a measurement, in the order of the report.
enum Field {
    private static let order = [
        "requests", "requests_per_s", "mb_per_s", "cpu_us_per_request", "peak_rss_mb", "rss_growth_mb", "cookies",
        "header_us", "load_ms", "save_ms", "idle_writes", "logins", "replays", "endings", "seconds", "cancels", "late",
        "lost",
        "queued", "bytes_each", "cancel_all_s", "loads", "cpu_us", "rss_growth_kb",
        "pages", "first_tenth_us", "last_tenth_us", "rss_mb", "items_mb", "dedup_cost",
        "sign_us", "seal_us", "none_us", "adapted_us", "exchanges", "off_us", "count_us", "log_us", "har_us",
        "events", "terminal", "leaks",
        "json_mb", "value_ms", "foundation_ms", "value_ratio", "response_ratio", "member_ratio", "deep_ratio",
        "lenient_ratio", "converted_ratio",
    ]

    /// Returns the fields with their values.
    static func sorted(_ measurement: Measurement) -> [(String, Double)] {
        measurement.map { ($0.key, $0.value) }.sorted { place($0.0) < place($1.0) }
    }

    private static func place(_ name: String) -> (Int, String) {
        (order.firstIndex(of: name) ?? order.count, name)
    }
}
