//! Figures in JSON: NaN and infinities are written as `null`, and `null` reads as NaN.

use serde::{Deserialize, Deserializer};

/// Reads one.
///
/// # Errors
/// If it is neither a number nor `null`.
pub fn read<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The same for lists.
///
/// # Errors
/// If one of them is neither.
pub fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(from)?;
    Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
}
