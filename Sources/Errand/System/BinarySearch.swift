extension RandomAccessCollection where Index == Int {
    /// Returns the index behind all elements that satisfy a condition, which are the first ones; with few calls of it.
    package func index(behindAll isFormer: (Element) -> Bool) -> Int {
        var (start, end) = (startIndex, endIndex)
        while start < end {
            let middle = (start + end) / 2
            if isFormer(self[middle]) { start = middle + 1 } else { end = middle }
        }
        return start
    }
}
