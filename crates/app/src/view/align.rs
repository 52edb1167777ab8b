//! Two sequences side by side.

use imara_diff::{Algorithm, Diff, InternedInput};

/// Places in two sequences that belong together; one of them, where it stands in one alone.
pub(super) type Aligned = (Option<usize>, Option<usize>);

/// Lays two sequences side by side: what has the same key, and between those what is of the same kind, in order.
pub(super) fn align<T>(
    one: &[T],
    other: &[T],
    key: impl Fn(&T) -> String,
    kind: impl Fn(&T) -> String,
) -> Vec<Aligned> {
    let keys = |items: &[T]| items.iter().map(&key).collect::<Vec<_>>();
    let kinds = |items: &[T]| items.iter().map(&kind).collect::<Vec<_>>();
    let mut aligned = Vec::new();
    for_each_gap(&keys(one), &keys(other), &mut aligned, |from, to, aligned| {
        let (first, second) = (from.start, to.start);
        let inside = |at: Aligned| (at.0.map(|at| first + at), at.1.map(|at| second + at));
        let mut nested = Vec::new();
        for_each_gap(&kinds(&one[from]), &kinds(&other[to]), &mut nested, |from, to, nested| {
            nested.extend(from.map(|at| (Some(at), None)));
            nested.extend(to.map(|at| (None, Some(at))));
        });
        aligned.extend(nested.into_iter().map(inside));
    });
    aligned
}

type Range = std::ops::Range<usize>;

/// Pairs what is equal, and has each gap in between filled.
fn for_each_gap(
    one: &[String],
    other: &[String],
    aligned: &mut Vec<Aligned>,
    fill: impl Fn(Range, Range, &mut Vec<Aligned>),
) {
    let mut input = InternedInput::<&str>::default();
    input.update_before(one.iter().map(String::as_str));
    input.update_after(other.iter().map(String::as_str));
    let (mut at, mut beside) = (0, 0);
    for hunk in Diff::compute(Algorithm::Myers, &input).hunks() {
        let range = |range: std::ops::Range<u32>| range.start as usize..range.end as usize;
        let (from, to) = (range(hunk.before), range(hunk.after));
        aligned.extend((at..from.start).zip(beside..).map(|(at, beside)| (Some(at), Some(beside))));
        (at, beside) = (from.end, to.end);
        fill(from, to, aligned);
    }
    aligned.extend((at..one.len()).zip(beside..).map(|(at, beside)| (Some(at), Some(beside))));
}
