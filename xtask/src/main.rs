//! The commands of the Terrace workspace.
fn main() {}
