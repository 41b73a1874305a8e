//! The frames of an app on the published crate and on ours: a table, and a page with both histograms beside each other.

use anyhow::{Result, ensure};
use base64::prelude::{BASE64_STANDARD, Engine};
use maud::{Markup, html};
use xtask_stats::median;

use super::document::{Cell, Part, Table};
use super::html::{self, commands, undrawn};
use super::model::Metric;
use super::page::origin_in_words;
use super::peers::Origin;
use super::plot::px;
use super::schedules::{self, Timed};
use super::terminal;
use super::units::{ratio, values};
use crate::demo::figures::Figures;

/// Both sides.
pub(crate) struct Comparison {
    pub(crate) origin: Origin,
    /// What was run, in words.
    pub(crate) what: String,
    /// The published crate first.
    pub(crate) sides: [SideFrames; 2],
    /// Where the app times them.
    pub(crate) schedules: Vec<Timed>,
}

/// What the processes of a side have in common. Times are in nanoseconds.
pub(crate) struct SideFrames {
    pub(crate) name: String,
    /// Of all processes, in order of length.
    frames: Vec<f64>,
    /// Medians over the processes.
    facts: [f64; FACTS.len()],
    threads: usize,
    /// A PNG, as an address that holds it.
    picture: Option<String>,
}

/// The rows of the table.
const FACTS: [&str; 5] = ["p50", "p99", "longest", "CPU time a frame", "start-up"];
/// Bars of a histogram.
pub(super) const BARS: usize = 48;
/// Units of a drawing; one is about a pixel.
pub(super) const WIDTH: f64 = 480.0;
pub(super) const HEIGHT: f64 = 180.0;
/// Below the bars, for the numbers.
pub(super) const FOOT: f64 = 22.0;
const TITLE: &str = "Frames on stock and on ours";
const READING: &str = "p50, p99 and the longest frame are those of a process, and the table has the median over the processes. A \
                       histogram has all frames of a side; both have the same axes, of which that of times is logarithmic.";

impl SideFrames {
    /// Of at least one process with at least one frame.
    pub(crate) fn of(name: &str, processes: &[Figures]) -> Self {
        let fact =
            |f: &dyn Fn(&Figures) -> f64| median(&mut Vec::from_iter(processes.iter().map(f)));
        let share =
            |per_mille| move |figures: &Figures| percentile(&sorted(&figures.frames), per_mille);
        let frames = processes.iter().flat_map(|p| p.frames.iter().copied());
        Self {
            name: name.to_owned(),
            frames: sorted(&Vec::from_iter(frames)),
            facts: [
                fact(&share(500)),
                fact(&share(990)),
                fact(&share(1_000)),
                fact(&|figures| figures.cpu / figures.frames.len() as f64),
                fact(&|figures| figures.startup),
            ],
            threads: processes.iter().map(|p| p.threads).max().unwrap_or(0),
            picture: None,
        }
    }

    /// The page then shows this PNG beside the histogram.
    pub(crate) fn with_picture(self, png: &[u8]) -> Self {
        let address = format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png));
        Self {
            picture: Some(address),
            ..self
        }
    }
}

impl Comparison {
    /// The rows of times: of stock, of ours.
    fn facts(&self) -> impl Iterator<Item = (&'static str, [f64; 2])> {
        let [stock, ours] = &self.sides;
        let facts = stock.facts.into_iter().zip(ours.facts);
        let facts = FACTS.into_iter().zip(facts);
        facts.map(|(fact, (stock, ours))| (fact, [stock, ours]))
    }

    /// Fails unless the ratios of ours to stock in these rows are at most so large.
    pub(crate) fn check(&self, limits: &[(&str, f64)]) -> Result<()> {
        let limit = |fact| limits.iter().find(|(name, _)| *name == fact);
        let above = self.facts().filter_map(|(fact, [stock, ours])| {
            let (value, (_, limit)) = (ours / stock, limit(fact)?);
            let said = || format!("{fact} is {} of stock, above {limit}", ratio(value));
            (value > *limit).then(said)
        });
        let above = Vec::from_iter(above);
        ensure!(above.is_empty(), "{}", above.join("; "));
        Ok(())
    }
}

/// In order of length.
pub(super) fn sorted(times: &[f64]) -> Vec<f64> {
    let mut times = times.to_owned();
    times.sort_unstable_by(f64::total_cmp);
    times
}

/// The smallest time that so many of a thousand of the sorted times do not exceed.
pub(super) fn percentile(sorted: &[f64], per_mille: usize) -> f64 {
    let rank = (sorted.len() * per_mille).div_ceil(1_000).max(1);
    sorted[rank - 1]
}

/// The table.
fn table(comparison: &Comparison) -> Table {
    let [stock, ours] = &comparison.sides;
    let header = ["", &stock.name, &ours.name, "ours/stock"];
    let mut table = Table::new("Frames", &header);
    for (fact, [stock, ours]) in comparison.facts() {
        let [of_stock, of_ours] = values(Metric::Wall, [stock, ours]);
        table.add(vec![
            Cell::Word(fact.to_owned()),
            Cell::Figure(of_stock),
            Cell::Figure(of_ours),
            Cell::Figure(ratio(ours / stock)),
        ]);
    }
    table.add(vec![
        Cell::Word("threads".to_owned()),
        Cell::Figure(stock.threads.to_string()),
        Cell::Figure(ours.threads.to_string()),
        Cell::Figure(ratio(ours.threads as f64 / stock.threads as f64)),
    ]);
    table
}

/// For the terminal.
pub(crate) fn text(comparison: &Comparison) -> String {
    let mut parts = vec![
        Part::Table(table(comparison)),
        Part::Text(format!("{}. {READING}", comparison.what)),
    ];
    if !comparison.schedules.is_empty() {
        parts.push(Part::Table(schedules::table(&comparison.schedules)));
        parts.push(Part::Text(schedules::READING.to_owned()));
    }
    terminal::parts(&parts, false)
}

/// One file, without network or scripts, in light and dark.
pub(crate) fn page(comparison: &Comparison) -> String {
    let axis = comparison.sides.each_ref().map(|side| &side.frames[..]);
    let axis = Axis::of(axis);
    let timed = &comparison.schedules;
    let body = html! {
        h1 { (TITLE) }
        main {
            p { (comparison.what) "." }
            (undrawn(&Part::Table(table(comparison))))
            div.histograms {
                @for side in &comparison.sides { (axis.histogram(side)) }
            }
            p.note { (READING) }
            @if !timed.is_empty() {
                (undrawn(&Part::Table(schedules::table(timed))))
                (schedules::drawings(timed))
                p.note { (schedules::READING) }
            }
            p.note { (commands(&origin_in_words(&comparison.origin))) "." }
        }
    };
    html::page(TITLE, include_str!("frames.css"), &body)
}

/// Of the times, logarithmic, and of the shares.
pub(super) struct Axis {
    low: f64,
    high: f64,
    /// The largest share of a bar.
    pub(super) most: f64,
}

impl Axis {
    /// Of sorted times, at least one on either side.
    pub(super) fn of(sides: [&[f64]; 2]) -> Self {
        let low = sides.iter().map(|side| side[0]);
        let low = low.fold(f64::INFINITY, f64::min).max(1.0);
        let high = sides.iter().map(|side| side[side.len() - 1]);
        let mut axis = Self {
            low,
            high: high.fold(low * 1.01, f64::max),
            most: 1.0,
        };
        let shares = sides.iter().flat_map(|side| axis.shares(side));
        axis.most = shares.fold(0.0, f64::max);
        axis
    }

    /// From 0 to 1.
    pub(super) fn place(&self, time: f64) -> f64 {
        let place = (time / self.low).ln() / (self.high / self.low).ln();
        place.clamp(0.0, 1.0)
    }

    /// The share of the times in each bar.
    pub(super) fn shares(&self, times: &[f64]) -> [f64; BARS] {
        let mut shares = [0.0; BARS];
        for &time in times {
            // Between 0 and `BARS`.
            let bar = (self.place(time) * BARS as f64) as usize;
            shares[bar.min(BARS - 1)] += 1.0 / times.len() as f64;
        }
        shares
    }

    /// The times below the bars.
    pub(super) fn foot(&self) -> Markup {
        let middle = (self.low * self.high).sqrt();
        let places = [
            (self.low, "start", 0.0),
            (middle, "middle", WIDTH / 2.0),
            (self.high, "end", WIDTH),
        ];
        html! {
            @for (time, anchor, x) in places {
                text x=(x) y=(HEIGHT + FOOT - 6.0) style={ "text-anchor:" (anchor) } { (values(Metric::Wall, [time])[0]) }
            }
        }
    }

    fn histogram(&self, side: &SideFrames) -> Markup {
        let width = WIDTH / BARS as f64;
        let [p50, p99, longest, ..] = side.facts;
        let marks = [("p50", p50), ("p99", p99), ("longest", longest)];
        let said = marks.map(|(name, time)| format!("{name} {}", values(Metric::Wall, [time])[0]));
        html! {
            figure {
                figcaption { (side.name) ": " (said.join(", ")) }
                svg viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + FOOT)) role="img" aria-label=(format!("Histogram of {}", side.name)) {
                    @for (bar, share) in self.shares(&side.frames).into_iter().enumerate() {
                        @if share > 0.0 {
                            // A single frame is seen, too.
                            @let height = (share / self.most * HEIGHT).max(1.5);
                            rect.bar x=(px(bar as f64 * width + 0.5)) y=(px(HEIGHT - height)) width=(px(width - 1.0)) height=(px(height)) {}
                        }
                    }
                    @for (_, time) in &marks[..2] {
                        @let x = px(self.place(*time) * WIDTH);
                        line.mark x1=(x) y1="0" x2=(x) y2=(HEIGHT) {}
                    }
                    line.base x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) {}
                    (self.foot())
                }
                @if let Some(picture) = &side.picture {
                    img src=(picture) alt=(format!("A frame of {}", side.name));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BARS, Comparison, SideFrames, page, text};
    use crate::demo::figures::Figures;
    use crate::report::peers::Origin;
    use crate::report::sheet::Sheet;

    fn origin() -> Origin {
        let sheet: Sheet = serde_json::from_str(include_str!("snapshots/sheet.json"))
            .expect("a sheet of a measurement");
        sheet.origin
    }

    fn side(name: &str, times: &[f64]) -> SideFrames {
        let process = |factor: f64| Figures {
            frames: times.iter().map(|time| time * factor).collect(),
            cpu: 4e6 * factor,
            startup: 1e7,
            threads: 5,
            fingerprint: String::new(),
            schedules: Vec::new(),
        };
        SideFrames::of(name, &[process(1.0), process(3.0), process(2.0)])
    }

    #[test]
    fn facts_are_medians_and_histograms_share_their_axes() {
        let sides = [
            side("stock", &[1e6, 2e6, 9e6]),
            side("ours", &[5e5, 1e6, 3e6]),
        ];
        assert_eq!(sides[0].facts, [4e6, 18e6, 18e6, 8e6 / 3.0, 1e7]);
        let axis = super::Axis::of(sides.each_ref().map(|side| &side.frames[..]));
        let shares = axis.shares(&sides[0].frames);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(
            shares[BARS - 1] > 0.0,
            "the longest frame is in the last bar"
        );
        let comparison = Comparison {
            origin: origin(),
            what: "three frames".to_owned(),
            sides,
            schedules: Vec::new(),
        };
        assert!(text(&comparison).contains("0.333"));
        let page = page(&comparison);
        assert_eq!(page.matches("<figure>").count(), 2);
        assert!(!page.contains("NaN") && !page.contains("http"));
    }

    #[test]
    fn limits_name_the_rows_above_them() {
        let comparison = Comparison {
            origin: origin(),
            what: String::new(),
            sides: [side("stock", &[1e6]), side("ours", &[2e6])],
            schedules: Vec::new(),
        };
        let error = comparison.check(&[("p99", 1.0), ("start-up", 1.0)]);
        let error = error.expect_err("twice as long").to_string();
        assert_eq!(error, "p99 is 2.000 of stock, above 1");
        assert!(comparison.check(&[("p99", 2.0)]).is_ok());
    }

    #[test]
    fn pictures_are_in_the_page() {
        let with = |name| side(name, &[1e6]).with_picture(b"foo");
        let comparison = Comparison {
            origin: origin(),
            what: String::new(),
            sides: [with("stock"), with("ours")],
            schedules: Vec::new(),
        };
        let address = "src=\"data:image/png;base64,Zm9v\"";
        assert_eq!(page(&comparison).matches(address).count(), 2);
    }

    #[test]
    fn one_frame_is_drawn() {
        let comparison = Comparison {
            origin: origin(),
            what: String::new(),
            sides: [side("stock", &[1e6]), side("ours", &[1e6])],
            schedules: Vec::new(),
        };
        assert!(!page(&comparison).contains("NaN"));
    }
}
