#if !os(watchOS)
@_exported public import AppleFoundation
public import Foundation
@_exported public import QuartzCore

@MainActor open class UIResponder: NSObject {
    public override init() { fatalError() }
    open var next: UIResponder? { fatalError() }
    @discardableResult open func becomeFirstResponder() -> Bool { fatalError() }
    @discardableResult open func resignFirstResponder() -> Bool { fatalError() }
}

@MainActor open class UIWindow: UIView {}

@MainActor open class UITraitCollection: NSObject {
    open var displayScale: CGFloat { fatalError() }
}

@MainActor open class UIView: UIResponder {
    public init(frame: CGRect) { fatalError() }
    public convenience override init() { fatalError() }
    public required init?(coder: NSCoder) { fatalError() }
    open var superview: UIView? { fatalError() }
    open var subviews: [UIView] { fatalError() }
    open var window: UIWindow? { fatalError() }
    open var isHidden: Bool = false
    open var tag: Int = 0
    open var bounds: CGRect = .zero
    open var layer: CALayer { fatalError() }
    open var traitCollection: UITraitCollection { fatalError() }
    open func addSubview(_ view: UIView) {}
    open func removeFromSuperview() {}
}

extension UIView {
    public var accessibilityLabel: String? {
        get { fatalError() }
        set {}
    }
}

@MainActor open class UILabel: UIView {
    open var text: String?
}

@MainActor open class UIImageView: UIView {
    public init(image: UIImage?) { fatalError() }
    public override init(frame: CGRect) { fatalError() }
    public required init?(coder: NSCoder) { fatalError() }
    open var image: UIImage?
    open var highlightedImage: UIImage?
}

@MainActor open class UIProgressView: UIView {
    public override init(frame: CGRect) { fatalError() }
    public required init?(coder: NSCoder) { fatalError() }
    open var progress: Float = 0
    open func setProgress(_ progress: Float, animated: Bool) {}
}

@MainActor open class UIActivityIndicatorView: UIView {
    public enum Style: Int, Sendable { case medium = 100, large = 101 }

    public init(style: UIActivityIndicatorView.Style) { fatalError() }
    public override init(frame: CGRect) { fatalError() }
    public required init(coder: NSCoder) { fatalError() }
    open var style: UIActivityIndicatorView.Style = .medium
    open var hidesWhenStopped: Bool = true
    open func startAnimating() {}
    open func stopAnimating() {}
    open var isAnimating: Bool { fatalError() }
}

@MainActor open class UIAction: NSObject {
    public convenience init(
        title: String = "",
        subtitle: String? = nil,
        handler: @escaping @MainActor (UIAction) -> Void
    ) { fatalError() }
    open var title: String = ""
    open var sender: Any? { fatalError() }
}

@MainActor open class UIControl: UIView {
    public struct Event: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { fatalError() }
        public static var touchUpInside: UIControl.Event { fatalError() }
        public static var valueChanged: UIControl.Event { fatalError() }
        public static var primaryActionTriggered: UIControl.Event { fatalError() }
        public static var editingChanged: UIControl.Event { fatalError() }
    }

    public struct State: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { fatalError() }
        public static var normal: UIControl.State { fatalError() }
        public static var highlighted: UIControl.State { fatalError() }
        public static var disabled: UIControl.State { fatalError() }
        public static var selected: UIControl.State { fatalError() }
        public static var focused: UIControl.State { fatalError() }
    }

    public init(frame: CGRect, primaryAction: UIAction?) { fatalError() }
    public override init(frame: CGRect) { fatalError() }
    public required init?(coder: NSCoder) { fatalError() }
    open var isEnabled: Bool = true
    open func addAction(_ action: UIAction, for controlEvents: UIControl.Event) {}
    open func sendActions(for controlEvents: UIControl.Event) {}
}

@MainActor open class UIButton: UIControl {
    public override init(frame: CGRect, primaryAction: UIAction?) { fatalError() }
    public override init(frame: CGRect) { fatalError() }
    public required init?(coder: NSCoder) { fatalError() }
    open func setTitle(_ title: String?, for state: UIControl.State) {}
    open func setImage(_ image: UIImage?, for state: UIControl.State) {}
    open func setBackgroundImage(_ image: UIImage?, for state: UIControl.State) {}
    open func image(for state: UIControl.State) -> UIImage? { fatalError() }
    open func backgroundImage(for state: UIControl.State) -> UIImage? { fatalError() }
}

#if !os(tvOS)
@MainActor open class UIRefreshControl: UIControl {
    public init() { fatalError() }
    public required init?(coder: NSCoder) { fatalError() }
    open var isRefreshing: Bool { fatalError() }
    open var attributedTitle: NSAttributedString?
    open func beginRefreshing() {}
    open func endRefreshing() {}
}
#endif

@MainActor open class UIScrollView: UIView {
    #if !os(tvOS)
    open var refreshControl: UIRefreshControl?
    #endif
}

@MainActor open class UITableViewCell: UIView {
    open var imageView: UIImageView? { fatalError() }
    open var textLabel: UILabel? { fatalError() }
    open var detailTextLabel: UILabel? { fatalError() }
    open func prepareForReuse() {}
}

@MainActor open class UITableView: UIScrollView {
    public enum RowAnimation: Int, Sendable { case fade, right, left, top, bottom, none, middle, automatic = 100 }
    public enum Style: Int, Sendable { case plain, grouped, insetGrouped }

    weak open var dataSource: (any UITableViewDataSource)?
    weak open var delegate: (any UITableViewDelegate)?
    open func reloadData() {}
    open func register(_ cellClass: AnyClass?, forCellReuseIdentifier identifier: String) {}
    open func dequeueReusableCell(withIdentifier identifier: String) -> UITableViewCell? { fatalError() }
    open func dequeueReusableCell(
        withIdentifier identifier: String,
        for indexPath: IndexPath
    ) -> UITableViewCell { fatalError() }
    open func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {}
    open func deleteRows(at indexPaths: [IndexPath], with animation: UITableView.RowAnimation) {}
    open func reloadRows(at indexPaths: [IndexPath], with animation: UITableView.RowAnimation) {}
    open func insertRows(at indexPaths: [IndexPath], with animation: UITableView.RowAnimation) {}
}

extension IndexPath {
    public init(row: Int, section: Int) { fatalError() }
    public var row: Int {
        get { fatalError() }
        set {}
    }
    public var section: Int {
        get { fatalError() }
        set {}
    }
}
#endif
