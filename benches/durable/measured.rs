//! What a run takes: time of the processor and bytes written, where the system says so.

use std::time::{Duration, Instant};

/// What was taken so far, or by something.
#[derive(Clone, Copy)]
pub struct Taken {
    pub time: Duration,
    pub bytes: u64,
}

/// The mean of so many runs of each function: the least of all rounds, in which they take turns, so that
/// whatever else the computer does meets all of them alike.
pub fn taken<const N: usize>(rounds: usize, runs: u32, mut functions: [&mut dyn FnMut(); N]) -> [Taken; N] {
    let mut best = [Taken { time: Duration::MAX, bytes: u64::MAX }; N];
    let mut bytes = [0; N];
    for _ in 0..rounds {
        for (at, function) in functions.iter_mut().enumerate() {
            let (began, before) = (clock(), written());
            (0..runs).for_each(|_| function());
            best[at].time = best[at].time.min((clock() - began) / runs);
            bytes[at] += written() - before;
        }
    }
    // A checkpoint falls into one round and not into the next: bytes are those of all.
    for (best, bytes) in best.iter_mut().zip(bytes) {
        best.bytes = bytes / (u64::from(runs) * rounds as u64);
    }
    best
}

/// The time that this process has had a processor. Elsewhere than on Linux, the time that has passed.
fn clock() -> Duration {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let passed = BEGAN.get_or_init(Instant::now).elapsed();
    // What is noted of a running process is some milliseconds old, until it gives way to another.
    std::thread::yield_now();
    let noted = std::fs::read_to_string("/proc/self/schedstat").ok();
    let on_cpu = noted.as_deref().and_then(|text| text.split(' ').next()?.parse().ok());
    on_cpu.map_or(passed, Duration::from_nanos)
}

/// The bytes that this process has handed to the system to write; 0 where it does not say.
fn written() -> u64 {
    noted("/proc/self/io", "wchar:")
}

/// The memory of this process in KiB, and the most that it ever had; 0 where the system does not say.
pub fn memory() -> (u64, u64) {
    (noted("/proc/self/status", "VmRSS:"), noted("/proc/self/status", "VmHWM:"))
}

fn noted(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
