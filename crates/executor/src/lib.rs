//! A Send work-stealing executor with its own worker threads
