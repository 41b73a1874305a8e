//! The report at the end.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use terrace_trace::Counters;

use crate::background::Results;
use crate::pipelined::{Seen, TIMED};
use crate::threads::{self, Thread};

/// The clocks and counters at the start of the measured frames.
pub(crate) struct Measurement {
    start: Instant,
    threads: Vec<Thread>,
    counters: Counters,
}

/// The advance of the counters.
pub(crate) struct Measured {
    wall: Duration,
    threads: Vec<Thread>,
    counters: Counters,
}

impl Measurement {
    /// From now.
    pub(crate) fn start() -> Self {
        Self {
            threads: threads::now(),
            counters: terrace_trace::snapshot(),
            start: Instant::now(),
        }
    }

    /// Until now.
    pub(crate) fn end(&self) -> Measured {
        Measured {
            wall: self.start.elapsed(),
            counters: terrace_trace::snapshot().since(&self.counters),
            threads: threads::since(&self.threads),
        }
    }
}

/// All there is to say.
pub(crate) struct Report {
    /// From nothing to the end of the first frame.
    pub(crate) startup: Duration,
    pub(crate) frame_times: Vec<Duration>,
    pub(crate) measured: Measured,
    pub(crate) background: Results,
    /// Frames the main-thread system drew, the first one included.
    pub(crate) on_main: usize,
    pub(crate) pipelined: Option<Seen>,
}

impl Report {
    /// The report.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text)
            .expect("writing to a string does not fail");
        text
    }

    /// The same for a program, in lines of a name and numbers; times are in nanoseconds.
    pub(crate) fn figures(&self, fingerprint: u64) -> String {
        let Measured { threads, .. } = &self.measured;
        let cpu: Duration = threads.iter().map(|thread| thread.cpu).sum();
        let words = |times: &[Duration]| {
            let times = times.iter().map(|time| time.as_nanos().to_string());
            times.collect::<Vec<_>>().join(" ")
        };
        let mut text = format!(
            "frames {}\ncpu {}\nthreads {}\nstartup {}\nfingerprint {fingerprint} {} {}",
            words(&self.frame_times),
            cpu.as_nanos(),
            threads.len(),
            self.startup.as_nanos(),
            self.background.started,
            self.on_main,
        );
        if let Some(Seen { times, sum, shown }) = &self.pipelined {
            text += &format!(" {sum} {shown}");
            for (name, times) in TIMED.iter().zip(times) {
                text += &format!("\nschedule {name} {}", words(times));
            }
        }
        text + "\n"
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let frames = self.frame_times.len();
        let mut times = self.frame_times.clone();
        times.sort_unstable();
        let wall = self.measured.wall;
        writeln!(text, "\nframe time, {frames} frames in {wall:.2?}")?;
        write_percentiles(text, &times)?;
        writeln!(
            text,
            "  start-up    {:>9.3} ms  pools, schedules, entities, first frame; not in the above",
            millis(self.startup)
        )?;
        for (name, times) in self
            .pipelined
            .iter()
            .flat_map(|s| TIMED.iter().zip(&s.times))
        {
            let mut times = times.clone();
            times.sort_unstable();
            writeln!(text, "\nschedule {name}")?;
            write_percentiles(text, &times)?;
        }
        self.write_cpu(text)?;
        self.write_pool(text, frames)?;
        let Results {
            started,
            finished,
            frames_waited,
            fullest_cell,
        } = self.background;
        writeln!(
            text,
            "\nbackground tasks: {finished} of {started} finished, {:.1} frames after their start; \
             the fullest cell of the last map holds {fullest_cell} particles",
            f64::from(frames_waited) / finished.max(1) as f64
        )?;
        writeln!(
            text,
            "main-thread system: ran in each of {} frames, always on the main thread",
            self.on_main
        )
    }

    fn write_cpu(&self, text: &mut String) -> std::fmt::Result {
        let Measured { wall, threads, .. } = &self.measured;
        if threads.is_empty() {
            return writeln!(text, "\nCPU time is not known on this system");
        }
        let total: Duration = threads.iter().map(|thread| thread.cpu).sum();
        let share = |cpu: Duration| 100.0 * cpu.as_secs_f64() / wall.as_secs_f64();
        writeln!(
            text,
            "\nCPU use, 100 % is one core\n  {:<20}{:>7.1} %",
            "all threads",
            share(total)
        )?;
        for (number, thread) in threads.iter().enumerate() {
            let name = if number == 0 { "main" } else { &thread.name };
            writeln!(text, "  {name:<20}{:>7.1} %", share(thread.cpu))?;
        }
        Ok(())
    }

    fn write_pool(&self, text: &mut String, frames: usize) -> std::fmt::Result {
        let counters = &self.measured.counters;
        writeln!(text, "\nwhat the pools did{:>16}{:>14}", "total", "a frame")?;
        for (name, count, meaning) in [
            (
                "spawns",
                counters.spawned_tasks_count,
                "tasks given to a pool or scope",
            ),
            ("polls", counters.worker_poll_count, "times a task was run"),
            (
                "steals",
                counters.worker_steal_count,
                "tasks a worker took from another's queue",
            ),
            (
                "parks",
                counters.worker_park_count,
                "times a worker went to sleep",
            ),
            (
                "wakes",
                counters.worker_wake_count,
                "times a sleeping worker was chosen to be woken",
            ),
        ] {
            writeln!(
                text,
                "  {name:<14}{count:>18}{:>14.2}  {meaning}",
                count as f64 / frames as f64
            )?;
        }
        Ok(())
    }
}

fn write_percentiles(text: &mut String, sorted: &[Duration]) -> std::fmt::Result {
    for (name, percent) in [("p50", 50), ("p99", 99), ("max", 100)] {
        let time = millis(percentile(sorted, percent));
        writeln!(text, "  {name:<12}{time:>9.3} ms")?;
    }
    Ok(())
}

/// The smallest time that `percent` of the sorted times do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted[rank - 1]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::percentile;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), Duration::from_millis(100));
        assert_eq!(percentile(&times, 99), Duration::from_millis(198));
        assert_eq!(percentile(&times, 100), Duration::from_millis(200));
        assert_eq!(percentile(&times[..1], 50), Duration::from_millis(1));
    }
}
