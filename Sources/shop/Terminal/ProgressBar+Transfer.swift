import Errand

extension ProgressBar {
    /// Shows how far a transfer has come.
    func show(_ progress: TransferProgress) {
        show(Int(progress.completedBytes), of: Int(progress.totalBytes ?? 0))
    }

    /// Leaves the line as the transfer's last report has it.
    func finish(_ progress: TransferProgress?) {
        guard let progress else { return }
        finish(Int(progress.completedBytes), of: Int(progress.totalBytes ?? 0))
    }
}
