// Members that types of Foundation have on Apple's platforms only.
public import Foundation

extension URL {
    public static var applicationSupportDirectory: URL { fatalError() }
    public static var cachesDirectory: URL { fatalError() }
    public static var downloadsDirectory: URL { fatalError() }
    public static var documentsDirectory: URL { fatalError() }
    public static var libraryDirectory: URL { fatalError() }
}
