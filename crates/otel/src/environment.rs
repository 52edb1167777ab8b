//! The variables of the environment.

/// A variable of the environment that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Whether what was said may stand in spans, as `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says.
pub fn captures_content() -> bool {
    let says = variable("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").unwrap_or_default();
    ["true", "span_only", "span_and_event"].contains(&says.to_ascii_lowercase().as_str())
}

/// A setting of the exporter: of one signal, or else of all.
pub(crate) fn find(signal: &str, setting: &str) -> Option<String> {
    variable(&format!("OTEL_EXPORTER_OTLP_{signal}_{setting}"))
        .or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{setting}")))
}
