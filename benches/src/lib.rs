//! Benchmarks of the Terrace layers, one file a layer.
