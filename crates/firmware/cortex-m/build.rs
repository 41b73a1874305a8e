//! Tells the linker what memory the machine has.

use std::path::PathBuf;
use std::{env, fs};

/// mps2-an386 of qemu: code at 0, data at 0x2000_0000.
const MEMORY: &str = "MEMORY
{
    FLASH : ORIGIN = 0x00000000, LENGTH = 4M
    RAM : ORIGIN = 0x20000000, LENGTH = 4M
}
";

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("memory.x"), MEMORY).expect("the directory is cargo's");
    println!("cargo::rustc-link-search={}", out.display());
    println!("cargo::rustc-link-arg-bins=--nmagic");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rerun-if-changed=build.rs");
}
