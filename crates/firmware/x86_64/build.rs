//! Tells the linker where the image goes.

use std::env;

fn main() {
    let package = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rustc-link-arg-bins=-T{package}/image.ld");
    println!("cargo::rustc-link-arg-bins=--nmagic");
    println!("cargo::rerun-if-changed=image.ld");
}
