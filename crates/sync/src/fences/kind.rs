//! The two forms of a pair of fences.

/// The form of the pair [`light`](crate::light) and [`heavy`](crate::heavy), or of the pair in [`steal`](crate::steal).
/// [`fence_kind`](crate::fence_kind) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// Both are `fence(SeqCst)`.
    Symmetric,
    /// The light one binds the compiler only; the heavy one makes every running thread of the process fence.
    Asymmetric,
}
