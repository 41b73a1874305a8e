//! A ring of records is read while its thread writes. On `std`, `crates/trace/tests/timeline.rs` does the same.
#![cfg(terrace_loom)]

use terrace_sync::{Arc, model, thread};
use terrace_trace::ring::{Record, Ring};

/// The record with this number. Its words tell whether they belong together.
fn record(number: u64) -> Record {
    [number + 1, 10 * (number + 1)]
}

fn assert_whole((first, records): (u64, Vec<Record>)) -> u64 {
    let numbers = first..;
    for (number, found) in numbers.zip(&records) {
        assert_eq!(*found, record(number), "record {number}");
    }
    first + records.len() as u64
}

/// What a snapshot keeps was written whole, and by the record that it stands for.
///
/// Fails under `trace-ring-fence`, `trace-ring-read-fence` and `trace-ring-writing`.
#[test]
fn trace_ring_is_read_while_it_is_overwritten() {
    model(|| {
        let ring = Arc::new(Ring::new(2));
        ring.push(record(0));
        ring.push(record(1));
        let read = ring.clone();
        let reader = thread::spawn(move || assert_whole(read.read()));
        ring.push(record(2));
        ring.push(record(3));
        let end = reader.join().unwrap();
        assert!((2..=4).contains(&end));
        // The place of the oldest may be written next.
        assert_eq!(ring.read(), (3, vec![record(3)]));
    });
}

/// All records that were published before are seen, but for those that were overwritten.
#[test]
fn trace_ring_is_read_to_its_head() {
    model(|| {
        let ring = Arc::new(Ring::new(4));
        ring.push(record(0));
        let written = ring.clone();
        let writer = thread::spawn(move || {
            written.push(record(1));
            written.push(record(2));
        });
        assert!(assert_whole(ring.read()) >= 1);
        writer.join().unwrap();
        let (first, records) = ring.read();
        assert_eq!((first, records.len()), (0, 3));
    });
}
