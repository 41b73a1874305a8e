//! The one std/loom switch of Terrace: atomics, fences, cells, locks and parking
