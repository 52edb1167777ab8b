//! The variables of the environment.

/// A variable of the environment that is set to something.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// What is wrong with a variable that does not read.
pub(crate) fn unread(name: &str, expected: &str, found: &str) -> String {
    format!("{name}: expected {expected}, found {found:?}")
}

/// A number of the environment.
///
/// # Errors
/// If it is set to something else.
pub(crate) fn number<T: std::str::FromStr>(name: &str, expected: &str) -> Result<Option<T>, String> {
    let read = |text: String| text.parse().map_err(|_| unread(name, expected, &text));
    variable(name).map(read).transpose()
}

/// Whether what was said may stand in spans, as `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says.
pub fn captures_content() -> bool {
    let says = variable("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT").unwrap_or_default();
    ["true", "span_only", "span_and_event"].contains(&says.to_ascii_lowercase().as_str())
}

/// The variable of a setting of the exporter that is set: that of one signal, or else of all.
pub(crate) fn name_of(signal: &str, setting: &str) -> Option<String> {
    let names = [format!("OTEL_EXPORTER_OTLP_{signal}_{setting}"), format!("OTEL_EXPORTER_OTLP_{setting}")];
    names.into_iter().find(|name| variable(name).is_some())
}

/// A setting of the exporter: of one signal, or else of all.
pub(crate) fn find(signal: &str, setting: &str) -> Option<String> {
    name_of(signal, setting).and_then(|name| variable(&name))
}
