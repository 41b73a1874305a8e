//! How long the schedules of an app take on the published crate and on ours: a table, and for each a histogram of both, back to back.

use anyhow::{Result, ensure};
use maud::{Markup, html};
use xtask_stats::{Estimate, median, median_of_ratios};

use super::document::{Cell, Table};
use super::frames::{Axis, BARS, FOOT, HEIGHT, WIDTH, percentile, sorted};
use super::model::Metric;
use super::plot::px;
use super::units::{estimate, ratio, values};
use crate::demo::figures::Figures;
use crate::measure::rounds::LEAST_ROUNDS;

/// The rows of a schedule: a name, and how many of a thousand times are not longer.
const TAILS: [(&str, usize); 3] = [("p50", 500), ("p99", 990), ("p99.9", 999)];
/// What each side is in a drawing.
const SIDES: [(&str, &str); 2] = [("stock", "bar peer"), ("ours", "bar")];
/// Of a half of a drawing.
const HALF: f64 = HEIGHT / 2.0;

/// A schedule on both sides. Times are in nanoseconds.
pub(crate) struct Timed {
    name: String,
    /// Processes of either side.
    processes: usize,
    /// Of all processes, in order of length.
    times: [Vec<f64>; 2],
    tails: [Tail; TAILS.len()],
}

/// One percentile of a schedule.
struct Tail {
    /// Medians over the processes.
    sides: [f64; 2],
    /// Ours/stock of processes that ran one after the other.
    ratio: Estimate,
}

/// The schedules of all processes, as many on either side, in the order in which they were run.
pub(crate) fn timed([stock, ours]: [&[Figures]; 2]) -> Result<Vec<Timed>> {
    let names = stock.first().map_or(&[][..], |process| &process.schedules);
    let of = |side: &[Figures], name: &str| {
        let times = side.iter().flat_map(|process| {
            let mut named = process.schedules.iter().filter(|(other, _)| other == name);
            named.next().map(|(_, times)| sorted(times))
        });
        Vec::from_iter(times)
    };
    let one = |(name, _): &(String, Vec<f64>)| {
        let sides = [of(stock, name), of(ours, name)];
        ensure!(
            sides.iter().all(|side| side.len() == stock.len()),
            "not all processes time the schedule {name}"
        );
        Ok(Timed {
            tails: TAILS.map(|(_, per_mille)| {
                let tails = sides.each_ref().map(|side| {
                    let tails = side.iter().map(|times| percentile(times, per_mille));
                    Vec::from_iter(tails)
                });
                let pairs = tails[1].iter().zip(&tails[0]);
                let ratios: Vec<f64> = pairs.map(|(ours, stock)| ours / stock).collect();
                Tail {
                    ratio: median_of_ratios(&ratios),
                    sides: tails.map(|mut tails| median(&mut tails)),
                }
            }),
            times: sides.map(|side| sorted(&side.concat())),
            processes: stock.len(),
            name: name.clone(),
        })
    };
    names.iter().map(one).collect()
}

/// Three lines a schedule.
pub(super) fn table(all: &[Timed]) -> Table {
    let header = ["schedule", "", "stock", "ours", "ours/stock"];
    let mut table = Table::new("Schedules", &header);
    for timed in all {
        for ((name, _), tail) in TAILS.iter().zip(&timed.tails) {
            let [stock, ours] = values(Metric::Wall, tail.sides);
            table.add(vec![
                Cell::Word(timed.name.clone()),
                Cell::Word((*name).to_owned()),
                Cell::Figure(stock),
                Cell::Figure(ours),
                Cell::Figure(match timed.processes < LEAST_ROUNDS {
                    true => ratio(tail.ratio.value),
                    false => estimate(&tail.ratio),
                }),
            ]);
        }
    }
    table.note = verdict(all);
    table
}

/// Which tails are longer on ours.
fn verdict(all: &[Timed]) -> String {
    if all.iter().any(|timed| timed.processes < LEAST_ROUNDS) {
        return format!(
            "An interval, and a verdict, need {LEAST_ROUNDS} processes of either side."
        );
    }
    let tails = all.iter().flat_map(|timed| {
        let tails = TAILS.iter().zip(&timed.tails);
        tails.map(|((name, _), tail)| (format!("{} {name}", timed.name), tail.ratio))
    });
    let named = |is: &dyn Fn(&Estimate) -> bool| {
        let names = tails.clone().filter(|(_, ratio)| is(ratio));
        let names: Vec<String> = names.map(|(name, _)| name).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        }
    };
    format!(
        "Longer on ours, by the whole interval: {}. Shorter: {}.",
        named(&|ratio| ratio.low > 1.0),
        named(&|ratio| ratio.high < 1.0)
    )
}

/// What stands below the drawings.
pub(super) const READING: &str = "First, Main and Last are schedules of the main world, and Main contains the others. Render is the schedule of a second world, \
     run by a thread of its own beside the next frame, as in pipelined rendering. A percentile is that of a process; the table has the median over \
     the processes, and a ratio is the median over pairs of processes that ran one after the other, in brackets with its 95 % confidence \
     interval. A drawing has all times of a schedule, stock upwards and ours downwards, with dashed lines at p99 and p99.9.";

/// A drawing for each schedule.
pub(super) fn drawings(all: &[Timed]) -> Markup {
    html! {
        div.histograms { @for timed in all { (drawing(timed)) } }
    }
}

fn drawing(timed: &Timed) -> Markup {
    let axis = Axis::of(timed.times.each_ref().map(Vec::as_slice));
    let width = WIDTH / BARS as f64;
    let [p50, .., p999] = &timed.tails;
    let said = [p50, p999].map(|tail| values(Metric::Wall, tail.sides).join(" | "));
    html! {
        figure {
            figcaption { (timed.name) ", stock | ours: p50 " (said[0]) ", p99.9 " (said[1]) }
            svg viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + FOOT)) role="img" aria-label=(format!("Histograms of {}, stock above ours", timed.name)) {
                @for (side, (times, (name, class))) in timed.times.iter().zip(SIDES).enumerate() {
                    @for (bar, share) in axis.shares(times).into_iter().enumerate() {
                        @if share > 0.0 {
                            // A single time is seen, too.
                            @let height = (share / axis.most * (HALF - 2.0)).max(1.5);
                            @let top = if side == 0 { HALF - height } else { HALF };
                            rect class=(class) x=(px(bar as f64 * width + 0.5)) y=(px(top)) width=(px(width - 1.0)) height=(px(height)) {}
                        }
                    }
                    @for tail in &timed.tails[1..] {
                        @let x = px(axis.place(tail.sides[side]) * WIDTH);
                        @let top = side as f64 * HALF;
                        line.mark x1=(x) y1=(px(top)) x2=(x) y2=(px(top + HALF)) {}
                    }
                    text x="0" y=(px(if side == 0 { 12.0 } else { HEIGHT - 4.0 })) { (name) }
                }
                line.base x1="0" y1=(HALF) x2=(WIDTH) y2=(HALF) {}
                (axis.foot())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{drawings, table, timed};
    use crate::demo::figures::Figures;
    use crate::report::document::Part;
    use crate::report::terminal;

    fn process(factor: f64, names: &[&str]) -> Figures {
        let times = (1..=1_000).map(|time| f64::from(time) * 1e3 * factor);
        let times: Vec<f64> = times.rev().collect();
        let schedules = names.iter().map(|name| ((*name).to_owned(), times.clone()));
        Figures {
            frames: times.clone(),
            cpu: 1.0,
            startup: 1.0,
            threads: 1,
            fingerprint: String::new(),
            schedules: schedules.collect(),
        }
    }

    #[test]
    fn tails_are_paired_and_named_where_they_are_longer() {
        let stock = [1.0, 2.0, 3.0].map(|factor| process(factor, &["First", "Last"]));
        let ours = [2.0, 4.0, 6.0].map(|factor| process(factor, &["First", "Last"]));
        let all = timed([&stock, &ours]).expect("all have both");
        let text = |all| terminal::parts(&[Part::Table(table(all))], false);
        let said = text(&all);
        for part in [
            "1.000 ms",
            "1.998 ms",
            "3.996 ms",
            "2.000 (2.000–2.000)",
            "Longer on ours, by the whole interval: First p50, First p99, First p99.9, Last p50, Last p99, Last p99.9. Shorter: none.",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let same = timed([&stock, &stock]).expect("all have both");
        assert!(text(&same).contains("interval: none. Shorter: none."));
        let few = timed([&stock[..1], &ours[..1]]).expect("both have them");
        let said = text(&few);
        assert!(
            said.contains("need 3 processes") && !said.contains('('),
            "{said}"
        );
        let drawn = drawings(&all).into_string();
        assert_eq!(drawn.matches("<figure>").count(), 2);
        assert!(drawn.contains("bar peer") && !drawn.contains("NaN"));
    }

    #[test]
    fn a_schedule_that_a_process_lacks_is_an_error() {
        let stock = [process(1.0, &["First"])];
        let error = timed([&stock, &[process(1.0, &[])]]).err();
        let error = error.expect("ours lacks it").to_string();
        assert_eq!(error, "not all processes time the schedule First");
        assert!(
            timed([&[process(1.0, &[])], &stock])
                .expect("none")
                .is_empty()
        );
    }
}
