import Foundation

extension TLSConfiguration.Certificates {
    /// The bytes of each certificate (DER); other lines of the text are ignored (RFC 7468 section 5.2).
    func decoded() throws(TransportError) -> [Data] {
        var certificates: [Data] = []
        // The lines of the certificate that has begun.
        var lines: String?
        for line in String(decoding: try text(), as: UTF8.self).split(whereSeparator: \.isNewline) {
            switch (line.trimmingCharacters(in: .whitespaces), lines) {
            case ("-----BEGIN CERTIFICATE-----", nil): lines = ""
            case ("-----END CERTIFICATE-----", let complete?):
                guard let bytes = Data(base64Encoded: complete), !bytes.isEmpty else {
                    throw .invalidAuthority(number: certificates.count + 1)
                }
                certificates.append(bytes)
                lines = nil
            case (let part, let former?): lines = former + part
            default: break
            }
        }
        guard lines == nil else { throw .invalidAuthority(number: certificates.count + 1) }
        guard !certificates.isEmpty else { throw .refusal(of: Self.setting, "it contains no certificate in PEM form") }
        return certificates
    }

    fileprivate static let setting = "tls.additionalAuthorities"

    private func text() throws(TransportError) -> Data {
        switch self {
        case .data(let text): return text
        case .file(let file):
            guard let text = FileManager.default.contents(atPath: file.path) else {
                throw .refusal(of: Self.setting, "the file \(Redactor.path(of: file)) cannot be read")
            }
            return text
        }
    }
}

extension TransportError {
    /// `number` counts from 1.
    static func invalidAuthority(number: Int) -> TransportError {
        .refusal(of: TLSConfiguration.Certificates.setting, "certificate \(number) is damaged or of another kind")
    }
}
