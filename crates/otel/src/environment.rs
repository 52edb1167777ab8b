//! The variables of the environment.

use std::num::NonZeroU32;

use percent_encoding::percent_decode_str;
use ureq::http::{HeaderName, HeaderValue};

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
///
/// # Errors
/// If the variable says something else than the conventions have.
pub fn captures_content() -> Result<bool, String> {
    let name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
    match variable(name).unwrap_or_default().to_ascii_lowercase().as_str() {
        "true" | "span_only" | "span_and_event" => Ok(true),
        "" | "false" | "event_only" | "no_content" => Ok(false),
        other => Err(unread(name, "true, false, span_only, event_only, span_and_event or no_content", other)),
    }
}

/// Checks the variables that the library reads, which passes over what does not read, and what is always done in one
/// way.
///
/// # Errors
/// The first that does not read.
pub(crate) fn check_what_is_read_elsewhere() -> Result<(), String> {
    for name in [
        "OTEL_METRIC_EXPORT_INTERVAL",
        "OTEL_BSP_SCHEDULE_DELAY",
        "OTEL_BLRP_SCHEDULE_DELAY",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
        "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
    ] {
        let what = if name.ends_with("SIZE") { "a number" } else { "milliseconds" };
        number::<NonZeroU32>(name, what)?;
    }
    let name = "OTEL_PROPAGATORS";
    let is_known = |text: &String| text.split(',').any(|part| part.trim() == "tracecontext");
    let other = variable(name).filter(|text| !is_known(text));
    other.map_or(Ok(()), |other| Err(unread(name, "tracecontext among them", &other)))
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

/// Whether telemetry is turned off as a whole.
///
/// # Errors
/// If the variable says neither yes nor no.
pub(crate) fn is_disabled() -> Result<bool, String> {
    let name = "OTEL_SDK_DISABLED";
    match variable(name).map(|value| value.to_ascii_lowercase()).as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(unread(name, "true or false", other)),
    }
}

/// Whether a signal (`TRACES`, `METRICS`, `LOGS`) is sent: a collector is named, and it is not turned off.
///
/// # Errors
/// If its variables do not read.
pub(crate) fn sends(signal: &str) -> Result<bool, String> {
    if find(signal, "ENDPOINT").is_none() {
        return Ok(false);
    }
    let name = format!("OTEL_{signal}_EXPORTER");
    match variable(&name).as_deref() {
        Some("none") => Ok(false),
        None | Some("otlp") => check_exporter(signal).map(|()| true),
        Some(other) => Err(unread(&name, "otlp or none", other)),
    }
}

/// Checks what the exporters overlook if it does not read. What headers hold is secret.
pub(crate) fn check_exporter(signal: &str) -> Result<(), String> {
    for (setting, known) in [("PROTOCOL", &["http/protobuf"][..]), ("COMPRESSION", &["gzip", "none"])] {
        let Some(name) = name_of(signal, setting) else { continue };
        let other = variable(&name).filter(|value| !known.contains(&value.as_str()));
        other.map_or(Ok(()), |other| Err(unread(&name, &known.join(" or "), &other)))?;
    }
    let Some(name) = name_of(signal, "HEADERS") else { return Ok(()) };
    let is_header = |(key, value): &(String, String)| {
        HeaderName::from_bytes(key.as_bytes()).is_ok() && HeaderValue::from_str(value).is_ok()
    };
    let pairs = parse_pairs(&name, &variable(&name).unwrap_or_default())?;
    match pairs.iter().position(|pair| !is_header(pair)) {
        Some(at) => Err(no_pair(&name, at)),
        None => Ok(()),
    }
}

fn no_pair(name: &str, at: usize) -> String {
    format!("{name}: expected pairs like name=value with commas between them, and part {} is none", at + 1)
}

/// Pairs like `name=value,name=value` with percent-encoded parts, as W3C baggage has them.
pub(crate) fn parse_pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, String> {
    let decode = |text: &str| Some(percent_decode_str(text.trim()).decode_utf8().ok()?.into_owned());
    let parse = |part: &str| {
        let (key, value) = part.split_once('=')?;
        Some((decode(key).filter(|key| !key.is_empty())?, decode(value)?))
    };
    let parts = text.split_terminator(',').enumerate();
    parts.map(|(at, part)| parse(part).ok_or_else(|| no_pair(name, at))).collect()
}
