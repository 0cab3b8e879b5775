/// A value outside of the structure that has it as a property; a change replaces it.
///
/// A large structure with one such property costs one reference to copy, and as much memory in each function that uses it.
@propertyWrapper struct Boxed<Value: Sendable>: Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box

    init(wrappedValue: Value) {
        box = Box(wrappedValue)
    }

    var wrappedValue: Value {
        get { box.value }
        set { box = Box(newValue) }
    }
}
