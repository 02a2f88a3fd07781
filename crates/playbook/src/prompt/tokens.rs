//! How much of a model's window a text takes, roughly.

/// Tokens of a text by its length: one per 3.6 bytes, rounded up. Real
/// tokenisers differ by model; this errs a little to the high side for prose.
pub const fn tokens(text: &str) -> usize {
    (text.len() * 10).div_ceil(36)
}
