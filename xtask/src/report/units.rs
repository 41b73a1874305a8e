//! Figures for readers: durations, counts, ratios, percentages.

use std::collections::HashSet;

use super::model::{Estimate, Metric};

/// In place of what could not be computed.
pub(crate) const NONE: &str = "–";

/// Values of one metric in the unit that suits the largest of them.
pub(crate) fn values<const N: usize>(metric: Metric, values: [f64; N]) -> [String; N] {
    let largest = values.iter().copied().filter(|v| v.is_finite());
    let largest = largest.fold(0.0, f64::max);
    let steps: &[(f64, &str)] = match metric {
        Metric::Wall | Metric::Cpu => &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
        Metric::Instr => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
    };
    let fits = steps.iter().find(|(size, _)| largest >= *size);
    let (size, unit) = fits.unwrap_or(&steps[steps.len() - 1]);
    let shown = |value| format!("{} {unit}", digits(value / size));
    values.map(|value| known(value, shown).trim_end().to_owned())
}

/// A ratio: `1.052`.
pub(crate) fn ratio(value: f64) -> String {
    known(value, digits)
}

/// A ratio with its interval: `1.052 (1.031–1.073)`.
pub(crate) fn estimate(estimate: &Estimate) -> String {
    let Estimate { value, low, high } = *estimate;
    if [low, value, high].iter().all(|v| v.is_finite()) {
        format!("{} ({}–{})", ratio(value), ratio(low), ratio(high))
    } else {
        ratio(value)
    }
}

/// A fraction as a percentage: `2.1 %`.
pub(super) fn percent(fraction: f64) -> String {
    known(fraction, |fraction| format!("{:.1} %", fraction * 100.0))
}

/// A ratio as a change: `+5.2 %`, `−5.2 %`, and from the double on as a factor, `×2.3`.
pub(super) fn change(ratio: f64) -> String {
    known(ratio, |ratio| {
        if ratio >= 2.0 {
            return format!("×{}", digits(ratio));
        }
        let percent = (ratio - 1.0) * 100.0;
        let sign = if percent < 0.0 { "−" } else { "+" };
        format!("{sign}{:.1} %", percent.abs())
    })
}

/// `1 bench`, `2 benches`.
pub(crate) fn counted(amount: usize, one: &str, many: &str) -> String {
    format!("{amount} {}", if amount == 1 { one } else { many })
}

/// The first few names, and how many more there are.
pub(crate) fn first(names: &[impl AsRef<str>], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The names in the order in which they come first.
pub(crate) fn unique<'n>(names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// A figure as it is shown, if it could be computed.
fn known(value: f64, shown: impl Fn(f64) -> String) -> String {
    if value.is_finite() {
        shown(value)
    } else {
        NONE.to_owned()
    }
}

/// Four digits, and all that stand before the point.
fn digits(value: f64) -> String {
    match value {
        v if v < 9.9995 => format!("{v:.3}"),
        v if v < 99.995 => format!("{v:.2}"),
        v if v < 999.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Estimate, Metric, change, estimate, percent, values};

    #[test]
    fn figures_keep_their_width() {
        let of = |value, low, high| estimate(&Estimate { value, low, high });
        for (found, expected) in [
            (
                values(Metric::Wall, [999.0, 1010.0]).join(" "),
                "0.999 µs 1.010 µs",
            ),
            (
                values(Metric::Cpu, [3.25, 12.0]).join(" "),
                "3.250 ns 12.00 ns",
            ),
            (values(Metric::Instr, [512.0, 0.0]).join(" "), "512.0 0.000"),
            (
                values(Metric::Wall, [4e10, f64::NAN]).join(" "),
                "40.00 s –",
            ),
            (of(1.0519, 1.0, 1.1), "1.052 (1.000–1.100)"),
            (of(50.0, 9.9999, 123.4), "50.00 (10.00–123.4)"),
            (of(f64::NAN, 1.0, 2.0), "–"),
            (of(1.0, f64::NAN, f64::INFINITY), "1.000"),
            (change(1.052), "+5.2 %"),
            (change(0.5), "−50.0 %"),
            (change(50.0), "×50.00"),
            (percent(f64::INFINITY), "–"),
        ] {
            assert_eq!(found, expected);
        }
    }
}
