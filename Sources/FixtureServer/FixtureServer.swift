package enum FixtureServerPlaceholder {}
