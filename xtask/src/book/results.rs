//! The results of the book: a forest plot for each layer, drawn out of the tables in `docs`, the rows that lose first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use maud::{Markup, html};

use super::page::{self, Table};
use crate::generated;

/// The pages with tables that `cargo xtask bench-page` has written.
const TABLES: [&str; 4] = ["benchmarks", "joins", "ecs", "eager"];

/// Where the results are shown; what stands outside of the generated part is the authors'.
const PAGE: &str = "docs/book/src/results.md";
const PLOTS: &str = "docs/book/src/results";

/// A file, below the root.
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    value: f64,
    low: f64,
    high: f64,
}

/// A row of a table: what is compared, and the ratio of our time to the peer's.
#[derive(Clone, Debug)]
struct Row {
    workload: String,
    ours: String,
    peer: String,
    /// With a star where the row is in no mean.
    threads: String,
    time: Ratio,
}

/// A layer's rows, and the page that has them.
struct Layer {
    name: String,
    page: &'static str,
    rows: Vec<Row>,
    /// Rows of the table of geometric means: ours, the peer, how many rows, the ratio.
    means: Vec<[String; 4]>,
}

/// The page and the plots, as they should be.
pub(super) fn files(root: &Path) -> Result<Vec<File>> {
    let mut layers = Vec::new();
    for page in TABLES {
        let path = format!("docs/{page}.md");
        let text = fs_err::read_to_string(root.join(&path))?;
        let found = read(page, &text);
        ensure!(!found.is_empty(), "{path} has no table of rows");
        layers.extend(found);
    }
    let old = fs_err::read_to_string(root.join(PAGE))?;
    let plots = layers.iter().map(|layer| File {
        path: Path::new(PLOTS).join(&layer.name).with_extension("svg"),
        text: plot(layer).into_string() + "\n",
    });
    let mut files: Vec<File> = plots.collect();
    let text = renewed(&old, &layers).with_context(|| format!("{PAGE} has no generated part"))?;
    files.push(File {
        path: PAGE.into(),
        text,
    });
    Ok(files)
}

/// The page with its generated part replaced.
fn renewed(page: &str, layers: &[Layer]) -> Option<String> {
    let sections: Vec<String> = layers.iter().map(section).collect();
    generated::renewed(page, "cargo xtask book", &sections.join("\n\n"))
}

/// The layers of a page.
fn read(page: &'static str, text: &str) -> Vec<Layer> {
    let mut layers = Vec::<Layer>::new();
    let tables = page::tables(text);
    for table in &tables {
        let Some(rows) = rows(table) else {
            continue;
        };
        match layers.iter_mut().find(|layer| layer.name == table.section) {
            Some(layer) => layer.rows.extend(rows),
            None => layers.push(Layer {
                means: means(&tables, &table.section),
                name: table.section.clone(),
                page,
                rows,
            }),
        }
    }
    layers
}

/// The places of these columns.
fn columns<const N: usize>(table: &Table, names: [&str; N]) -> Option<[usize; N]> {
    let places = names.map(|name| table.head.iter().position(|head| head == name));
    let found = places.iter().all(Option::is_some);
    found.then(|| places.map(Option::unwrap_or_default))
}

fn rows(table: &Table) -> Option<Vec<Row>> {
    let names = ["workload", "ours", "peer", "threads", "wall time"];
    let [workload, ours, peer, threads, time] = columns(table, names)?;
    let row = |cells: &Vec<String>| {
        let cell = |at: usize| cells.get(at).cloned().unwrap_or_default();
        Some(Row {
            workload: cell(workload),
            ours: cell(ours),
            peer: cell(peer),
            threads: cell(threads),
            time: ratio(&cell(time))?,
        })
    };
    Some(table.rows.iter().filter_map(row).collect())
}

fn means(tables: &[Table], layer: &str) -> Vec<[String; 4]> {
    let names = ["layer", "ours", "peer", "rows", "wall time"];
    let mut means = Vec::new();
    for table in tables {
        let Some([of, columns @ ..]) = columns(table, names) else {
            continue;
        };
        let of_layer = table.rows.iter().filter(|row| row[of] == layer);
        means.extend(of_layer.map(|row| columns.map(|at| row[at].clone())));
    }
    means
}

/// A cell such as `0.049 (0.045–0.050)`.
fn ratio(cell: &str) -> Option<Ratio> {
    let (value, interval) = cell.split_once(" (")?;
    let (low, high) = interval.strip_suffix(')')?.split_once('–')?;
    Some(Ratio {
        value: value.parse().ok()?,
        low: low.parse().ok()?,
        high: high.parse().ok()?,
    })
}

impl Row {
    /// The first word of the workload's name: its rows differ in size or threads.
    fn family(&self) -> &str {
        self.workload.split('/').next().unwrap_or_default()
    }

    fn loses(&self) -> bool {
        self.time.low > 1.0
    }

    fn label(&self) -> String {
        let star = if self.threads.contains('*') { " *" } else { "" };
        format!("{} beside {}{star}", self.ours, self.peer)
    }
}

/// Of each workload and peer the row in which Terrace does worst; the worst of all first.
fn worst(rows: &[Row]) -> Vec<&Row> {
    let mut worst = BTreeMap::<(&str, &str), &Row>::new();
    for row in rows {
        let place = worst.entry((row.family(), &row.peer)).or_insert(row);
        if row.time.value > place.time.value {
            *place = row;
        }
    }
    let mut worst: Vec<&Row> = worst.into_values().collect();
    worst.sort_by(|a, b| b.time.value.total_cmp(&a.time.value));
    worst
}

fn section(layer: &Layer) -> String {
    let (name, page) = (&layer.name, layer.page);
    let lost = layer.rows.iter().filter(|row| row.loses()).count();
    let mut text = format!(
        "## {name}\n\n{lost} of {} rows lose: their whole interval lies above 1. [All rows](../../{page}.md#{name}).\n\n",
        layer.rows.len()
    );
    text += &format!(
        "![Forest plot of the layer {name}, the worst row of each workload and peer](results/{name}.svg)"
    );
    if !layer.means.is_empty() {
        text += "\n\n| ours | peer | rows | geometric mean |\n|:--|:--|--:|--:|";
    }
    for [ours, peer, rows, mean] in &layer.means {
        text += &format!("\n| `{ours}` | `{peer}` | {rows} | {mean} |");
    }
    text
}

/// Units of a drawing; one is a pixel.
const WIDTH: f64 = 500.0;
/// Where the axis begins and ends.
const AXIS: (f64, f64) = (12.0, 420.0);
/// Above the rows, for the numbers of the axis.
const HEAD: f64 = 44.0;
/// A row: a line of words, and the whisker below it.
const LINE: f64 = 36.0;
/// The ratios at the ends of the axis; what lies beyond is drawn at the end.
const ENDS: (f64, f64) = (1.0 / 32.0, 4.0);
const TICKS: [(f64, &str); 6] = [
    (1.0 / 32.0, "1/32"),
    (0.125, "1/8"),
    (0.25, "1/4"),
    (0.5, "1/2"),
    (1.0, "1"),
    (2.0, "2"),
];

const STYLE: &str = "\
    text { font: 13px system-ui, \"Segoe UI\", \"Helvetica Neue\", Arial, sans-serif; fill: #2b2b28; }
    .label { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
    .name { font: 600 12px ui-monospace, \"SF Mono\", Menlo, Consolas, \"DejaVu Sans Mono\", monospace; }
    .paper { fill: #ffffff; stroke: #d0d0ca; } .grid { stroke: #e4e4df; } .one { stroke: #77776f; stroke-width: 1.5; }
    .small { font-size: 11px; fill: #5d5d57; }
    .wins { stroke: #2f7d4b; fill: #2f7d4b; } .loses { stroke: #b3412e; fill: #b3412e; } .even { stroke: #77776f; fill: #77776f; }
    .whisker { stroke-width: 2; } text.wins, text.loses, text.even { stroke: none; font-weight: 600; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e9e9e4; } .label { stroke: #1d1f21; } .paper { fill: #1d1f21; stroke: #45453f; } .grid { stroke: #34342f; } .one { stroke: #98988f; }
      .small { fill: #b4b4ab; }
      .wins { stroke: #6cc48b; fill: #6cc48b; } .loses { stroke: #f08a74; fill: #f08a74; } .even { stroke: #a5a59c; fill: #a5a59c; }
    }
";

fn place(ratio: f64) -> f64 {
    let share = (ratio.clamp(ENDS.0, ENDS.1) / ENDS.0).ln() / (ENDS.1 / ENDS.0).ln();
    AXIS.0 + share * (AXIS.1 - AXIS.0)
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

fn plot(layer: &Layer) -> Markup {
    let rows = worst(&layer.rows);
    let height = HEAD + rows.len() as f64 * LINE + 12.0;
    let title = format!("{}: our time divided by the peer's", layer.name);
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height) role="img" {
            title { (title) }
            style { (maud::PreEscaped(STYLE)) }
            rect.paper x="0.5" y="0.5" width=(WIDTH - 1.0) height=(height - 1.0) rx="6" {}
            text.small x=(AXIS.0) y="18" { "◂ Terrace is faster" }
            text.small x=(px(place(1.0) + 6.0)) y="18" { "slower ▸" }
            @for (tick, words) in TICKS {
                text.small x=(px(place(tick))) y="36" text-anchor=(if tick == ENDS.0 { "start" } else { "middle" }) { (words) }
                line class=(if tick == 1.0 { "one" } else { "grid" }) x1=(px(place(tick))) x2=(px(place(tick))) y1=(HEAD - 2.0) y2=(height - 8.0) {}
            }
            @for (index, row) in rows.into_iter().enumerate() {
                (drawn(row, HEAD + index as f64 * LINE))
            }
        }
    }
}

/// A row, from this height on.
fn drawn(row: &Row, top: f64) -> Markup {
    let Ratio { value, low, high } = row.time;
    let kind = match () {
        () if low > 1.0 => "loses",
        () if high < 1.0 => "wins",
        () => "even",
    };
    let (words, line) = (top + 14.0, top + 26.0);
    html! {
        text.label x=(AXIS.0) y=(px(words)) { tspan.name { (row.workload) } tspan.small dx="6" { (row.label()) } }
        line class={ "whisker " (kind) } x1=(px(place(low))) x2=(px(place(high))) y1=(px(line)) y2=(px(line)) {}
        circle class=(kind) cx=(px(place(value))) cy=(px(line)) r="4" {}
        text class=(kind) x=(px(WIDTH - 12.0)) y=(px(line + 4.0)) text-anchor="end" { (format!("{value:.2}")) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Ratio, files, plot, ratio, read, renewed, worst};

    const TEXT: &str = "\
# B

## Geometric means

| layer | ours | peer | rows | wall time | CPU time |
|:--|--:|--:|--:|--:|--:|
| park | idle | std | 2 | 0.900 (0.800–1.100) | – |
| queue | ring | std | 2 | 0.500 (0.400–0.600) | – |

## park

| workload | ours | peer | threads | our time | the peer's | wall time |
|:--|--:|--:|--:|--:|--:|--:|
| `wake/1` | idle | std | 1 | 1 ns | 2 ns | 0.500 (0.400–0.600) |
| `wake/2` | idle | std | 2 \\* | 3 ns | 2 ns | 1.500 (1.400–1.600) |
| `park/1` | idle | std | – | 1 ns | 1 ns | 1.010 (0.900–1.100) |
| `park/2` | idle | std | – | 1 ns | 1 ns | – |
";

    #[test]
    fn the_worst_row_of_a_workload_comes_first() {
        let layers = read("b", TEXT);
        assert_eq!(layers.len(), 1);
        let worst = worst(&layers[0].rows);
        let labels = worst.iter().map(|row| (row.workload.as_str(), row.label()));
        let wanted = [
            ("wake/2", "idle beside std *".to_owned()),
            ("park/1", "idle beside std".to_owned()),
        ];
        assert!(labels.eq(wanted));
        let drawn = plot(&layers[0]).into_string();
        roxmltree::Document::parse(&drawn).expect("a drawing is XML");
        assert!(drawn.find("wake/2") < drawn.find("park/1"));
        assert!(!drawn.contains("wake/1"));
    }

    #[test]
    fn a_section_has_the_means_and_what_loses() {
        let page = "# R\n\nBy hand.\n\n<!-- generated by `cargo xtask book`, do not edit -->\nold\n<!-- end of what is generated -->\n";
        let new = renewed(page, &read("b", TEXT)).expect("a generated part");
        assert!(new.starts_with("# R\n\nBy hand.\n\n<!-- generated"));
        assert!(new.contains("1 of 3 rows lose") && new.contains("../../b.md#park"));
        assert!(
            new.contains("| `idle` | `std` | 2 | 0.900 (0.800–1.100) |") && !new.contains("ring")
        );
        assert!(!new.contains("old"));
        assert!(renewed("# R\n", &[]).is_none());
    }

    #[test]
    fn cells_are_ratios_or_nothing() {
        let wanted = Ratio {
            value: 1.5,
            low: 1.25,
            high: 2.0,
        };
        assert_eq!(ratio("1.500 (1.250–2.000)"), Some(wanted));
        assert_eq!(ratio("–"), None);
    }

    #[test]
    fn the_committed_results_are_those_of_the_tables() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        for file in files(root).expect("the tables are there") {
            let committed = fs_err::read_to_string(root.join(&file.path)).unwrap_or_default();
            let path = file.path.display();
            assert!(committed == file.text, "`cargo xtask book` renews {path}");
        }
    }
}
