//! A world that is drawn from a seed: what models, tools and people say, and when things break.

pub mod store;
pub mod world;

/// Chance that is the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn of(seed: u64) -> Self {
        Dice(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// What is drawn for a thing that has a name, whenever it is drawn.
pub fn drawn(seed: u64, name: &str) -> u64 {
    let mut mixed = Dice::of(seed);
    for byte in name.bytes() {
        mixed = Dice::of(mixed.next() ^ u64::from(byte));
    }
    mixed.next()
}
