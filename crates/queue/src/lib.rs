//! Queue primitives of the Terrace executors: RunQueue, Ring, Injector, Inbox
