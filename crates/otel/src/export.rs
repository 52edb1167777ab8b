//! Over the wire: OTLP over HTTP, as the environment says where to.

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{RetryPolicy, WithExportConfig, WithHttpConfig};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::TelemetryResourceDetector;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;
use serde_json::{Map, Value};
use ureq::Agent;
use ureq::http::HeaderValue;
use ureq::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::environment::{check_exporter, find, name_of, number, parse_pairs, variable};

/// Most bytes of a collector's answer that are read.
const MAX_ANSWER_BYTES: u64 = 64 << 10;
/// Most characters of what a collector says that are shown.
const MAX_MESSAGE_CHARS: usize = 200;

/// Posts what is exported.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    agent: Agent,
    /// Whether equal spans are to be equal bytes.
    is_in_order: bool,
    is_compressed: bool,
    /// Why the collector did not take what was sent last, if it did not.
    trouble: Arc<Mutex<Option<Trouble>>>,
}

/// Why a collector did not take what it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    /// In plain words.
    pub reason: String,
    /// How much it did not take, where that is not all.
    pub rejected: Option<u64>,
}

impl Client {
    /// A client as the environment says: its time-out, its compression, its certificates and its proxy.
    pub fn from_env(signal: &str) -> Result<Self, String> {
        let timeout = name_of(signal, "TIMEOUT").map(|name| number(&name, "milliseconds")).transpose()?;
        let timeout = timeout.flatten().unwrap_or(10_000);
        let mut config = Agent::config_builder().http_status_as_error(false).max_redirects(0);
        config = config.timeout_global(Some(Duration::from_millis(timeout)));
        let name = name_of(signal, "CERTIFICATE").unwrap_or_else(|| "SSL_CERT_FILE".to_owned());
        if let Some(path) = variable(&name) {
            let path = format!("{name}: {path}");
            let text = std::fs::read(&path[name.len() + 2..]).map_err(|error| format!("{path}: {error}"))?;
            let items = parse_pem(&text).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                Ok(_) => None,
                Err(error) => Some(Err(format!("{path}: {error}"))),
            });
            let certificates = items.collect::<Result<Vec<_>, _>>()?;
            if certificates.is_empty() {
                return Err(format!("{path}: expected certificates in PEM, found none"));
            }
            let roots = RootCerts::new_with_certs(&certificates);
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let is_compressed = find(signal, "COMPRESSION").is_some_and(|compression| compression == "gzip");
        Ok(Client {
            agent: config.build().into(),
            is_in_order: false,
            is_compressed,
            trouble: Arc::default(),
        })
    }

    /// Why the collector did not take what was sent last.
    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Posts, and keeps in mind what came of it.
    fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let uri = request.uri();
        let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
        let place = format!("{}{port}{}", uri.host().unwrap_or_default(), uri.path());
        let answer = self.send(request);
        let whole = |reason: String| Some(Trouble { reason, rejected: None });
        let trouble = match &answer {
            Ok(answer) if answer.status().is_success() => find_rejection(answer, &place),
            Ok(answer) => whole(format!("{place} answered {}", answer.status())),
            Err(error) => whole(format!("{place}: {}", explain(error))),
        };
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
        Ok(answer?)
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let (mut head, body) = request.into_parts();
        let is_here = head.uri.host().is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host));
        let mut body = if self.is_in_order { in_order(&body) } else { body.to_vec() };
        head.headers.remove(CONTENT_LENGTH);
        if self.is_compressed {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&body)?;
            body = encoder.finish()?;
            head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let request = self.agent.configure_request(Request::from_parts(head, body));
        let request = if is_here { request.proxy(None).build() } else { request.build() };
        let (head, answer) = self.agent.run(request)?.into_parts();
        let mut read = Vec::new();
        answer.into_reader().take(MAX_ANSWER_BYTES).read_to_end(&mut read)?;
        Ok(Response::from_parts(head, read.into()))
    }
}

/// What a collector that answers with success did not take after all, as OTLP has it say so. Spans, metrics and log
/// records have answers of one form.
fn find_rejection(answer: &Response<Bytes>, place: &str) -> Option<Trouble> {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let partial = match kind.split(';').next().unwrap_or_default().trim() {
        _ if answer.body().is_empty() => return None,
        "application/x-protobuf" => ExportTraceServiceResponse::decode(answer.body().clone()).ok(),
        // Some answer so whatever they were sent.
        "application/json" if serde_json::from_slice::<Map<String, Value>>(answer.body()).is_ok() => {
            return None;
        }
        _ => None,
    };
    let Some(answered) = partial else {
        let reason = format!("{place} answered with something else than OTLP ({kind:?})");
        return Some(Trouble { reason, rejected: None });
    };
    let partial = answered.partial_success?;
    let rejected = u64::try_from(partial.rejected_spans).ok().filter(|count| *count > 0)?;
    let message: String = partial.error_message.chars().take(MAX_MESSAGE_CHARS).collect();
    let reason = format!("{place} rejected {rejected}: {message:?}");
    Some(Trouble { reason, rejected: Some(rejected) })
}

fn explain(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::HostNotFound => "there is no such host".to_owned(),
        ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => {
            "nothing listens there".to_owned()
        }
        error => error.to_string(),
    }
}

/// The attributes of a resource come out of a map in any order. In order, equal spans are equal bytes.
fn in_order(body: &[u8]) -> Vec<u8> {
    let Ok(mut request) = ExportTraceServiceRequest::decode(body) else { return body.to_vec() };
    let resources = request.resource_spans.iter_mut().filter_map(|spans| spans.resource.as_mut());
    resources.for_each(|resource| resource.attributes.sort_by(|one, other| one.key.cmp(&other.key)));
    request.encode_to_vec()
}

// What the macro `async_trait` makes of `async fn send_bytes`. The exporters' own threads wait for it.
impl HttpClient for Client {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.post(request) })
    }
}

/// A collector that is not there is tried again after a tenth and a fifth of a second: the end of a process waits for it.
fn retry() -> RetryPolicy {
    RetryPolicy::recommended().with_max_retries(2)
}

/// Opens the exporter of spans.
pub(crate) fn open_spans(client: Client) -> Result<opentelemetry_otlp::SpanExporter, String> {
    let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().with_http_client(client);
    let exporter =
        exporter.with_retry_policy(retry()).with_protocol(opentelemetry_otlp::Protocol::HttpBinary).build();
    exporter.map_err(|error| error.to_string())
}

/// Opens the exporter of metrics.
pub(crate) fn open_metrics(client: Client) -> Result<opentelemetry_otlp::MetricExporter, String> {
    let exporter = opentelemetry_otlp::MetricExporter::builder().with_http().with_http_client(client);
    let exporter =
        exporter.with_retry_policy(retry()).with_protocol(opentelemetry_otlp::Protocol::HttpBinary).build();
    exporter.map_err(|error| error.to_string())
}

/// Opens the exporter of log records.
pub(crate) fn open_logs(client: Client) -> Result<opentelemetry_otlp::LogExporter, String> {
    let exporter = opentelemetry_otlp::LogExporter::builder().with_http().with_http_client(client);
    let exporter =
        exporter.with_retry_policy(retry()).with_protocol(opentelemetry_otlp::Protocol::HttpBinary).build();
    exporter.map_err(|error| error.to_string())
}

/// What all that is exported is said to come from.
///
/// # Errors
/// If `OTEL_RESOURCE_ATTRIBUTES` does not read.
pub(crate) fn resource() -> Result<Resource, String> {
    let name = "OTEL_RESOURCE_ATTRIBUTES";
    let pairs = parse_pairs(name, &variable(name).unwrap_or_default())?;
    // The variable goes before an attribute of that name.
    let service = variable("OTEL_SERVICE_NAME").map(|name| KeyValue::new("service.name", name));
    let attributes = [KeyValue::new("service.name", "planwright")].into_iter();
    let attributes = attributes.chain(pairs.into_iter().map(|(key, value)| KeyValue::new(key, value)));
    let telemetry = Box::new(TelemetryResourceDetector);
    let resource = Resource::builder_empty().with_detector(telemetry);
    Ok(resource.with_attributes(attributes.chain(service)).build())
}

/// Sends spans where the environment says, and waits for the answer.
pub struct Exporter {
    exporter: opentelemetry_otlp::SpanExporter,
    client: Client,
}

impl Exporter {
    /// An exporter as the `OTEL_*` variables say.
    ///
    /// # Errors
    /// If a variable does not read.
    pub fn from_env() -> Result<Self, String> {
        check_exporter("TRACES")?;
        let client = Client { is_in_order: true, ..Client::from_env("TRACES")? };
        let mut exporter = open_spans(client.clone())?;
        exporter.set_resource(&resource()?);
        Ok(Exporter { exporter, client })
    }

    /// Sends spans in one request, which is made again a few times where the collector is not there or busy. Equal
    /// spans are equal bytes.
    ///
    /// # Errors
    /// If the collector does not take them.
    pub fn export(&self, spans: Vec<SpanData>) -> Result<(), String> {
        let sent = wait_for(self.exporter.export(spans));
        match self.client.trouble() {
            Some(trouble) => Err(trouble.reason),
            None => sent.map_err(|error| error.to_string()),
        }
    }
}

/// Waits for a future that waits for nothing itself: the client blocks.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut future = std::pin::pin!(future);
    loop {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        std::thread::yield_now();
    }
}
