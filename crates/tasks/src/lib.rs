//! A thin Bevy-facing TaskPool facade over the Terrace layers
