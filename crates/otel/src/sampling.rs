//! Which traces are recorded, as `OTEL_TRACES_SAMPLER` says.

use planwright::prompt::TraceContext;

use crate::environment::{unread, variable};

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

    /// Nothing is recorded.
    pub const NONE: Sampler = Sampler { by_parent: false, share: 0.0 };

    /// The sampler of the environment; what the conventions have as the usual one where it names none.
    ///
    /// # Errors
    /// If it names one that is not there, or a share that is none.
    pub fn from_env() -> Result<Self, String> {
        let name = variable("OTEL_TRACES_SAMPLER").unwrap_or_default();
        let argument = variable("OTEL_TRACES_SAMPLER_ARG");
        Sampler::parse(&name, argument.as_deref())
    }

    fn parse(name: &str, argument: Option<&str>) -> Result<Self, String> {
        let by_parent = name.strip_prefix("parentbased_");
        let share = match (by_parent.unwrap_or(name), argument) {
            ("always_off", _) => 0.0,
            ("always_on", _) | ("traceidratio", None) => 1.0,
            ("traceidratio", Some(argument)) => {
                let share = argument.parse().ok().filter(|share| (0.0..=1.0).contains(share));
                share.ok_or_else(|| unread("OTEL_TRACES_SAMPLER_ARG", "a share from 0 to 1", argument))?
            }
            ("", _) if name.is_empty() => return Ok(Sampler { by_parent: true, share: 1.0 }),
            _ => {
                let known = "always_on, always_off or traceidratio, perhaps after parentbased_";
                return Err(unread("OTEL_TRACES_SAMPLER", known, name));
            }
        };
        Ok(Sampler { by_parent: by_parent.is_some(), share })
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
            let sampler = Sampler::parse(name, argument).unwrap();
            sampler.samples(&TraceContext::of_run("r", Some(&parent)), Some(&parent))
        };
        assert!(samples("", None, true) && !samples("", None, false), "the usual one asks the parent");
        assert!(samples("always_on", None, false) && !samples("always_off", None, true));
        assert!(samples("traceidratio", Some("1"), false) && !samples("traceidratio", Some("0.01"), true));
        assert!(samples("parentbased_always_off", None, true));
        let alone =
            |name| Sampler::parse(name, None).unwrap().samples(&TraceContext::of_run("r", None), None);
        assert!(alone("") && !alone("parentbased_always_off"));
        for (name, argument) in
            [("no such sampler", None), ("traceidratio", Some("2")), ("traceidratio", Some("half"))]
        {
            assert!(Sampler::parse(name, argument).unwrap_err().contains("expected "), "{name} {argument:?}");
        }
    }
}
