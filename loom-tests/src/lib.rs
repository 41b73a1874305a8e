//! Loom models of the Terrace protocols.
