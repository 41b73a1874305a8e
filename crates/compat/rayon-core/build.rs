//! Cargo wants a build script of a package with `links`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
