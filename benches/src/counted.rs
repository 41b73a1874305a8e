//! Workloads for benches that count instructions.

/// One iteration of a workload.
pub type Job = Box<dyn FnMut()>;

/// A workload that has run once, so all values made on first use are there.
pub fn warm(job: impl FnMut() + 'static) -> Job {
    let mut job: Job = Box::new(job);
    job();
    job
}

/// A workload as it is.
pub fn cold(job: impl FnMut() + 'static) -> Job {
    Box::new(job)
}
