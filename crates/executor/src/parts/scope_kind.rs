//! The kind of a scope: the type of its body. Scopes of one kind are expected to take about as long as each other.

use std::hash::{Hash, Hasher};

use crate::tuned::TOLD_APART;

/// The kind of a scope, as one of 64 numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeKind(u32);

impl ScopeKind {
    /// The kind of scopes whose body is of type `F`, by whatever lifetimes.
    #[inline]
    #[must_use]
    pub fn of<F>() -> Self {
        Self((type_hash::<F>() >> (u64::BITS - TOLD_APART.ilog2())) as u32)
    }

    pub(super) fn from_number(number: u32) -> Self {
        Self(number)
    }

    #[inline]
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// A hash of the type `F`, by whatever lifetimes. A constant, after inlining.
#[inline]
#[must_use]
pub fn type_hash<F>() -> u64 {
    let mut hash = TypeHash(0);
    typeid::of::<F>().hash(&mut hash);
    hash.finish()
}

/// Takes the id of a type as it is, which is a hash already.
struct TypeHash(u64);

impl Hasher for TypeHash {
    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(all(test, not(any(terrace_loom, terrace_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn types_are_of_many_kinds_and_lifetimes_of_one() {
        fn of_value<F>(_: &F) -> ScopeKind {
            ScopeKind::of::<F>()
        }

        let local = String::new();
        let borrows = &local;
        assert_eq!(of_value(&borrows), ScopeKind::of::<&'static String>());
        let kinds = [
            ScopeKind::of::<u8>(),
            ScopeKind::of::<u16>(),
            ScopeKind::of::<u32>(),
            ScopeKind::of::<u64>(),
            of_value(&|| borrows.len()),
            of_value(&|| borrows.is_empty()),
        ];
        assert!(
            kinds
                .iter()
                .all(|kind| (kind.number() as usize) < TOLD_APART)
        );
        assert!(kinds.iter().any(|kind| *kind != kinds[0]));
    }
}
