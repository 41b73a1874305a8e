//! Unsynchronised single-thread executors, sound under wakes from any thread
