//! `cargo xtask bench-compare` proves itself on small repositories: what it finds, how it ends, and that it
//! leaves the user's tree alone.

mod ends;
mod finds;
mod fixture;
mod instructions;
mod tree;
