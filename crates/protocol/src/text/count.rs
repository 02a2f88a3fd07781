//! Numbers with their noun.

use std::fmt::Display;

/// As in `1 call` and `2 calls`.
pub fn count_of<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!(count_of(1_u64, "check"), "1 check");
        assert_eq!(count_of(0_usize, "check"), "0 checks");
        assert_eq!(count_of(2_u32, "check"), "2 checks");
    }
}
