//! `cargo xtask bench-compare` proves itself on small repositories: what it finds, how it ends, and that it
//! leaves the user's tree alone.

mod budget;
mod contents;
mod ends;
mod finds;
mod fixture;
mod instructions;
mod marks;
mod tree;
mod untouched;
