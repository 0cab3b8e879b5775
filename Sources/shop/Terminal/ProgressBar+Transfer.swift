import Errand

extension ProgressBar {
    /// Shows the progress of a transfer.
    func show(_ progress: TransferProgress) {
        show(Int(progress.completedBytes), of: Int(progress.totalBytes ?? 0))
    }

    /// Writes the final line with the transfer's last report.
    func finish(_ progress: TransferProgress?) {
        guard let progress else { return }
        finish(Int(progress.completedBytes), of: Int(progress.totalBytes ?? 0))
    }
}
