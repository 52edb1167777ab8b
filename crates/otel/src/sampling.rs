//! Which traces are recorded, as `OTEL_TRACES_SAMPLER` says.

use planwright::prompt::TraceContext;

use crate::environment::variable;

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sampler {
    /// Whether a request that is traced says it for its run.
    by_parent: bool,
    /// The share of the others, from 0 to 1.
    share: f64,
}

impl Sampler {
    /// Everything is recorded.
    pub const ALL: Sampler = Sampler { by_parent: false, share: 1.0 };

    /// The sampler of the environment; what the conventions have as the usual one where it names none.
    pub fn from_env() -> Self {
        let name = variable("OTEL_TRACES_SAMPLER").unwrap_or_default();
        let argument = variable("OTEL_TRACES_SAMPLER_ARG");
        Sampler::parse(&name, argument.as_deref())
    }

    fn parse(name: &str, argument: Option<&str>) -> Self {
        let by_parent = name.strip_prefix("parentbased_");
        let share = match by_parent.unwrap_or(name) {
            "always_off" => 0.0,
            "traceidratio" => argument.and_then(|share| share.parse().ok()).unwrap_or(1.0),
            _ => 1.0,
        };
        // An unknown name is as none.
        let is_known = ["always_on", "always_off", "traceidratio"].contains(&by_parent.unwrap_or(name));
        Sampler { by_parent: by_parent.is_some() || !is_known, share }
    }

    /// Whether a run is recorded.
    pub fn samples(self, run: &TraceContext, parent: Option<&TraceContext>) -> bool {
        if let Some(parent) = parent.filter(|_| self.by_parent) {
            return parent.sampled;
        }
        let low = run.trace_id.iter().skip(8).fold(0_u64, |low, byte| (low << 8) | u64::from(*byte));
        ((low >> 1) as f64) < self.share * (1_u64 << 63) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_decides_where_the_sampler_asks_it() {
        let parent = |sampled| TraceContext { trace_id: [9; 16], span_id: [1; 8], sampled };
        let samples = |name, argument, sampled| {
            let parent = parent(sampled);
            Sampler::parse(name, argument).samples(&TraceContext::of_run("r", Some(&parent)), Some(&parent))
        };
        assert!(samples("", None, true) && !samples("", None, false), "the usual one asks the parent");
        assert!(samples("always_on", None, false) && !samples("always_off", None, true));
        assert!(samples("traceidratio", Some("1"), false) && !samples("traceidratio", Some("0.01"), true));
        assert!(samples("parentbased_always_off", None, true));
        let alone = |name, share| Sampler::parse(name, share).samples(&TraceContext::of_run("r", None), None);
        assert!(alone("", None) && !alone("parentbased_always_off", None) && alone("no such sampler", None));
    }
}
