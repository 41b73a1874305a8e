//! Counters and timeline hooks for the Terrace executors; empty unless the feature is on
