//! Over the wire: OTLP over HTTP, as the environment says where to.

use std::io::Read;
use std::time::Duration;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{RetryPolicy, WithExportConfig, WithHttpConfig};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message;
use ureq::Agent;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::environment::{find, name_of, number, variable};

/// Most bytes of a collector's answer that are read.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// Posts what is exported.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    agent: Agent,
    /// Whether equal spans are to be equal bytes.
    is_in_order: bool,
}

impl Client {
    /// A client as the environment says: its time-out, its certificates and its proxy.
    pub fn from_env(signal: &str) -> Result<Self, String> {
        let timeout = name_of(signal, "TIMEOUT").map(|name| number(&name, "milliseconds")).transpose()?;
        let timeout = timeout.flatten().unwrap_or(10_000);
        let mut config = Agent::config_builder().http_status_as_error(false).max_redirects(0);
        config = config.timeout_global(Some(Duration::from_millis(timeout)));
        if let Some(path) = find(signal, "CERTIFICATE").or_else(|| variable("SSL_CERT_FILE")) {
            let text = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
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
        Ok(Client { agent: config.build().into(), is_in_order: false })
    }

    fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (mut head, body) = request.into_parts();
        let is_here = head.uri.host().is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host));
        let body = if self.is_in_order { in_order(&body) } else { body.to_vec() };
        head.headers.remove("content-length");
        let request = self.agent.configure_request(Request::from_parts(head, body));
        let request = if is_here { request.proxy(None).build() } else { request.build() };
        let (head, answer) = self.agent.run(request)?.into_parts();
        let mut read = Vec::new();
        answer.into_reader().take(MAX_ANSWER_BYTES).read_to_end(&mut read)?;
        Ok(Response::from_parts(head, read.into()))
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

/// What all that is exported is said to come from.
pub(crate) fn resource() -> Resource {
    // The variable goes before an attribute of that name.
    if let Some(name) = variable("OTEL_SERVICE_NAME") {
        return Resource::builder().with_service_name(name).build();
    }
    let found = Resource::builder().build();
    let name = found.get(&"service.name".into()).map(|name| name.to_string()).unwrap_or_default();
    match name.is_empty() || name.starts_with("unknown_service") {
        true => Resource::builder().with_service_name("planwright").build(),
        false => found,
    }
}

/// Sends spans where the environment says, and waits for the answer.
pub struct Exporter(opentelemetry_otlp::SpanExporter);

impl Exporter {
    /// An exporter as the `OTEL_*` variables say.
    ///
    /// # Errors
    /// If a variable does not read.
    pub fn from_env() -> Result<Self, String> {
        let client = Client { is_in_order: true, ..Client::from_env("TRACES")? };
        let mut exporter = open_spans(client)?;
        exporter.set_resource(&resource());
        Ok(Exporter(exporter))
    }

    /// Sends spans in one request, which is made again a few times where the collector is not there or busy. Equal
    /// spans are equal bytes.
    ///
    /// # Errors
    /// If the collector does not take them.
    pub fn export(&self, spans: Vec<SpanData>) -> Result<(), String> {
        wait_for(self.0.export(spans)).map_err(|error| error.to_string())
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
