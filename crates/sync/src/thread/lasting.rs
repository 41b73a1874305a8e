//! A number of each thread, 0 before it is set, that stays to the thread's last moment, whatever destructors of its thread-locals run.
//!
//! | target                                        | where it is kept                                                      |
//! |-----------------------------------------------|-----------------------------------------------------------------------|
//! | with thread-locals of its own                 | in one of them: it has no destructor                                  |
//! | Windows without them                          | in a slot of `TlsAlloc`                                               |
//! | Unix without them, `by_thread_locals` has all | in a key of `pthread_key_create`, without a destructor                |
//! | a checker                                     | in a thread-local of the checker                                      |
//!
//! On the targets in the middle, `std` frees a thread-local without a destructor at the end of its thread, in any order with others, and
//! a later access makes a new one. The system's slots hold a number of a pointer's size, so no memory is left behind.

by_thread_locals! {
    keyed {
        #[path = "lasting/system.rs"]
        mod slot;
    }
    native {
        #[path = "lasting/native.rs"]
        mod slot;
    }
}

pub use slot::{get, set};
