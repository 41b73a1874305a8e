//! Tasks pinned to one thread, and handles that spawn onto exactly that thread
