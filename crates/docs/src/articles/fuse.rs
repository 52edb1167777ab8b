//! Fusion by reciprocal rank: several rankings of the same things become one. What several rankings name
//! early stands before what one of them names first; scores of different kinds are never compared.

use std::collections::BTreeMap;

/// Ranks count less the further down they are; this softens the first ones (Cormack, Clarke and
/// Büttcher 2009 use the same).
const SOFTENING: f64 = 60.0;

/// The places in the order of their summed reciprocal ranks; equal sums in the order of the places.
pub(super) fn fused(rankings: &[&[usize]]) -> Vec<usize> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for ranking in rankings {
        for (rank, place) in (1_u32..).zip(ranking.iter()) {
            *sums.entry(*place).or_default() += 1.0 / (SOFTENING + f64::from(rank));
        }
    }
    let mut places: Vec<(usize, f64)> = sums.into_iter().collect();
    // Stable, and the places come in order.
    places.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    places.into_iter().map(|(place, _)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rankings: &[&[usize]], expected: &[usize]) {
        assert_eq!(fused(rankings), expected);
    }

    #[test]
    fn what_both_name_stands_before_what_one_names_first() {
        check(&[&[7, 3, 5], &[2, 5]], &[5, 2, 7, 3]);
        check(&[&[4, 1]], &[4, 1]);
        check(&[], &[]);
    }

    #[test]
    fn equal_sums_stand_in_the_order_of_the_contract() {
        check(&[&[9, 2], &[2, 9]], &[2, 9]);
        check(&[&[8], &[3]], &[3, 8]);
    }
}
