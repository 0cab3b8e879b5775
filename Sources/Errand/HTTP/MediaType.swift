import Foundation

extension HTTPHeaders {
    /// That of the body, in lower case and without parameters.
    package var mediaType: String? { mediaTypeBytes.map { String(Substring($0)).lowercased() } }

    /// Compared byte by byte, because it is asked for at each response.
    var isJSON: Bool {
        guard let type = mediaTypeBytes else { return false }
        return type.equalsIgnoringCase("application/json") || type.suffix(5).equalsIgnoringCase("+json")
    }

    private var mediaTypeBytes: Substring.UTF8View? {
        self["Content-Type"]?.utf8.prefix { $0 != UInt8(ascii: ";") }.trimmingBlanks
    }
}

/// Media types of files (IANA media types, RFC 6838).
enum MediaType {
    /// RFC 2046 section 4.5.1.
    static let unknown = "application/octet-stream"

    /// The same on every platform, so that an upload does not depend on what is installed.
    static func guess(fileName: String) -> String? {
        guard let dot = fileName.lastIndex(of: ".") else { return nil }
        return types[fileName[fileName.index(after: dot)...].lowercased()]
    }

    private static let types = [
        "3gp": "video/3gpp", "7z": "application/x-7z-compressed", "aac": "audio/aac", "aif": "audio/aiff",
        "aiff": "audio/aiff", "apng": "image/apng", "avi": "video/x-msvideo", "avif": "image/avif", "bmp": "image/bmp",
        "bz2": "application/x-bzip2", "caf": "audio/x-caf", "css": "text/css", "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "eml": "message/rfc822",
        "epub": "application/epub+zip", "flac": "audio/flac", "geojson": "application/geo+json", "gif": "image/gif",
        "gpx": "application/gpx+xml", "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif",
        "htm": "text/html", "html": "text/html", "ico": "image/x-icon", "ics": "text/calendar", "jpeg": "image/jpeg",
        "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json", "jxl": "image/jxl",
        "key": "application/vnd.apple.keynote", "log": "text/plain", "m4a": "audio/mp4", "m4v": "video/x-m4v",
        "md": "text/markdown", "mid": "audio/midi", "mkv": "video/x-matroska", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "numbers": "application/vnd.apple.numbers", "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf",
        "pages": "application/vnd.apple.pages", "pdf": "application/pdf", "plist": "application/x-plist",
        "png": "image/png", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rar": "application/vnd.rar",
        "rtf": "application/rtf", "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff",
        "tiff": "image/tiff", "ttf": "font/ttf", "txt": "text/plain", "usdz": "model/vnd.usdz+zip",
        "vcf": "text/vcard", "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm",
        "webm": "video/webm", "webp": "image/webp", "wmv": "video/x-ms-wmv", "woff": "font/woff",
        "woff2": "font/woff2", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
    ]
}
