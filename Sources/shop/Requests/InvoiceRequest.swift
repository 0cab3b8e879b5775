import Errand
import Foundation

/// Downloads the invoice of an order, a PDF file.
final class InvoiceRequest: BaseAPIRequest, APIManager {
    typealias Response = Data
    let path = "/invoices/{order}.pdf"
    let method = HTTPMethod.get

    override var options: APIRequestOptions { APIRequestOptions(reportsProgress: true) }
}
