/// A value outside of the structure that has it as a property; copied when it is changed while another copy exists.
///
/// A large structure with one such property costs one reference to copy, and as much memory in each function that uses it.
@propertyWrapper struct Boxed<Value: Sendable>: Sendable {
    // Unchecked because of the variable, which is changed only while there is a single reference to the box.
    private final class Box: @unchecked Sendable {
        // Not checked at run time, because the owner of the box is a variable that the compiler checks.
        @exclusivity(unchecked) var value: Value

        init(_ value: Value) {
            self.value = value
        }
    }

    private var box: Box

    init(wrappedValue: Value) {
        box = Box(wrappedValue)
    }

    var wrappedValue: Value {
        _read { yield box.value }
        _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }
}
