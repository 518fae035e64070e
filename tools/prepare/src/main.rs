//! The command `fianchetto-prepare`: see the library of the same name.

fn main() {}
