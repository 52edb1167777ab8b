//! A model behind a server, whatever protocol it speaks.
//!
//! A request asks for the reply's form as strictly as the server takes it (`dialect`). Failures that may pass
//! are tried again after a wait; everything else is reported at once, in the server's own words.
//!
//! **Invariant:** a request that has given text to a token sink is tried again only where the caller is told
//! that the text is void. The number of requests for one question is bounded.

mod config;
mod dialect;
mod names;
mod protocol;
mod read;
mod words;

pub use config::ModelConfig;
pub use dialect::StructuredOutput;
pub use protocol::{Asked, Draft, Protocol};
pub(crate) use protocol::{bound_reasoning, broken_off, check_error, read_count};
pub(crate) use words::{NO_WORDS, parse_repair, render_system, split_reply};

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::dialect::{Dialect, conclude};
use self::names::{restore_names, with_plain_names};
use self::read::read_reply;
use crate::client::{AttemptError, Client, Endpoint, Request, Stage, parse_endpoint, show_address};
use planwright::machine::{FailureClass, ModelFailure, ModelReply, Usage};
use planwright::ports::{Cause, Model, ModelError, ModelServer, RetrySink, Secret, TokenSink, Unanswered};
use planwright::prompt::ModelRequest;

/// In how many forms one request may be put.
const MAX_FORMS: u32 = 6;

/// A client of a model's server that speaks one protocol: [`OpenAi`](crate::OpenAi),
/// [`Anthropic`](crate::Anthropic), [`Responses`](crate::Responses).
pub struct Door<P> {
    config: ModelConfig,
    endpoint: Endpoint,
    client: Client,
    /// What each model was found to take, by the model's name.
    learned: Mutex<BTreeMap<String, Dialect>>,
    protocol: PhantomData<P>,
}

impl<P: Protocol> Door<P> {
    /// Opens a client with these settings. Nothing is sent before the first request.
    ///
    /// # Errors
    /// [`Cause::NotFound`] if the base URL is not an HTTP address, [`Cause::Authentication`] if the key or another
    /// header holds a character that no header can carry, [`Cause::Connection`] if the file of certificates has none.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        let endpoint = parse_endpoint(&config.base_url, P::ROOT, P::PATH)
            .map_err(|message| ModelError::unanswered(Cause::NotFound, message))?;
        let refused = |cause| move |message: String| ModelError::unanswered(cause, message);
        let mut client = P::open_client(&config.api_key).map_err(refused(Cause::Authentication))?;
        for (name, value) in &config.headers {
            client.add_header(name, value.expose()).map_err(refused(Cause::Authentication))?;
        }
        client.go_through(&config.network).map_err(refused(Cause::Connection))?;
        client.retry = config.retry.clone();
        client.connect_timeout = config.connect_timeout;
        client.max_response_bytes = config.max_response_bytes;
        Ok(Door { config, endpoint, client, learned: Mutex::default(), protocol: PhantomData })
    }

    fn learned(&self) -> MutexGuard<'_, BTreeMap<String, Dialect>> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name that is asked is the one that a price goes by: servers name the dated or the local file behind it.
    fn model_of<'a>(&'a self, request: &'a ModelRequest) -> &'a str {
        request.frame.model.as_deref().unwrap_or(&self.config.model)
    }

    /// Asks until the server takes the form of the request, which gets simpler each time.
    fn attempt(
        &self,
        request: &ModelRequest,
        dialect: &mut Dialect,
        sink: &mut Option<impl FnMut(&str)>,
        has_streamed: &Cell<bool>,
        tell: &dyn Fn(&AttemptError, u32, Duration),
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, AttemptError> {
        let model = self.model_of(request);
        let (streams, time, mut forms) = (sink.is_some(), self.config.call_timeout, 0);
        loop {
            let extra = &self.config.extra;
            let put = Asked { model, dialect: *dialect, streams, extra };
            let body = put.write(P::render(request, put));
            let (uri, trace) = (&self.endpoint.0, request.trace);
            let asked = Request { uri, body: Some(&body), idempotency_key: None, trace };
            let answer =
                self.client.send(asked, time, time, stop).and_then(|response| match response.is_success() {
                    true => {
                        let (id, idle) = (response.request_id(), self.config.idle_timeout);
                        let (client, frame) = (&self.client, &request.frame);
                        let sink = sink.as_mut().map(|sink| sink as _);
                        let reply = read_reply::<P>(client, frame, response, idle, sink, stop);
                        reply.map(|reply| with_usage(reply, &body)).map_err(|error| error.with_request(id))
                    }
                    false => Err(self.client.read_error(response, stop)),
                });
            let error = match &answer {
                Err(AttemptError { stage: Stage::Answered(error), .. }) => error,
                Err(AttemptError { stage: Stage::NotSent | Stage::Sent, .. }) => return answer,
                Ok(_) | Err(_) => {
                    // What the server has answered in is kept, with what others have learnt meanwhile.
                    let mut learned = self.learned();
                    let known = learned.entry(model.to_owned()).or_insert(*dialect);
                    *known = known.merge(*dialect);
                    drop(learned);
                    return answer;
                }
            };
            if let Some(reply) = P::read_generation(error) {
                return Ok(reply);
            }
            let simpler = dialect.without_refused(error, &request.frame, streams, P::REASONING);
            let Some(simpler) = simpler.filter(|_| !has_streamed.get()) else {
                return conclude(error, request.frame.native_calls).map_or(answer, Err);
            };
            forms += 1;
            let change = AttemptError::bad_response(dialect.describe_change(simpler), true);
            tell(&AttemptError { tries: forms, ..change }, MAX_FORMS, Duration::ZERO);
            *dialect = simpler;
        }
    }

    fn redact(&self, text: &str) -> String {
        self.client.redact(text).into_owned()
    }

    fn unanswered(&self, error: &AttemptError) -> Unanswered {
        let AttemptError { cause, message, retry_after, tries, .. } = error;
        let message = self.redact(&format!("{}: {message}", show_address(&self.config.base_url)));
        Unanswered { cause: *cause, message, retry_after: *retry_after, tries: *tries }
    }

    /// Asks until there is an answer, no try is left or `stop` says so.
    fn ask_patiently(
        &self,
        request: &ModelRequest,
        tokens: Option<TokenSink<'_>>,
        retrying: Option<RetrySink<'_>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        let (asked, model) = (with_plain_names(request), self.model_of(request));
        let known = self.learned().get(model).copied();
        let mut dialect =
            known.unwrap_or_else(|| Dialect::first(self.config.structured_output, P::HAS_JSON_OBJECT));
        let has_streamed = Cell::new(false);
        let mut sink = tokens.map(|sink| {
            |text: &str| {
                has_streamed.set(true);
                sink(text);
            }
        });
        let tell = |error: &AttemptError, most, delay| {
            has_streamed.set(false);
            retrying.iter().for_each(|retrying| retrying(&self.unanswered(error), most, delay));
        };
        let answer = self.client.retry.run(Duration::MAX, tell, stop, |_| {
            let answer = self.attempt(&asked, &mut dialect, &mut sink, &has_streamed, &tell, stop);
            answer.map_err(|mut error| {
                error.transient &= retrying.is_some() || !has_streamed.get();
                error
            })
        });
        let error = match answer {
            Ok(mut reply) => {
                restore_names(&mut reply, &request.frame);
                return Ok(ModelReply { model: model.to_owned(), ..reply });
            }
            Err(error) => error,
        };
        let failure = match error.stage {
            Stage::Failed(failure) => *failure,
            Stage::TooLarge => ModelFailure::new(FailureClass::TooLarge, error.message),
            Stage::NotSent | Stage::Sent | Stage::Answered(_) => {
                return Err(ModelError::Unanswered(self.unanswered(&error)));
            }
        };
        let (model, message) = (model.to_owned(), self.redact(&failure.message));
        Err(ModelError::Failed(ModelFailure { model, message, ..failure }))
    }
}

/// The reply with what it cost: by estimate where the server does not say, so that a limit holds all the same.
fn with_usage(mut reply: ModelReply, asked: &[u8]) -> ModelReply {
    if reply.usage.is_zero() {
        let calls = reply
            .tool_calls
            .iter()
            .map(|call| estimate_tokens(&call.name) + estimate_tokens(&call.arguments));
        let output_tokens =
            estimate_tokens(&reply.text) + estimate_tokens(&reply.thoughts) + calls.sum::<u64>();
        let input_tokens = estimate_tokens(&String::from_utf8_lossy(asked));
        let estimated_tokens = input_tokens + output_tokens;
        reply.usage = Usage { input_tokens, output_tokens, estimated_tokens, ..Usage::default() };
    }
    reply
}

/// Four letters are a token, and so is a character of another script.
fn estimate_tokens(text: &str) -> u64 {
    let others = text.chars().filter(|character| !character.is_ascii()).count();
    let letters = text.bytes().filter(u8::is_ascii).count();
    (others + letters.div_ceil(4)) as u64
}

impl<P: Protocol> Model for Door<P> {
    fn name(&self) -> &str {
        &self.config.model
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        self.ask_patiently(request, tokens, None, &|| false)
    }

    fn ask_until(
        &self,
        request: &ModelRequest,
        tokens: Option<TokenSink<'_>>,
        retrying: RetrySink<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        self.ask_patiently(request, tokens, Some(retrying), stop)
    }

    fn secrets(&self) -> Vec<Secret> {
        self.client.secrets().to_vec()
    }

    fn servers(&self) -> Vec<ModelServer> {
        let uri = &self.endpoint.0;
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
        let (provider, host) = (P::PROVIDER.to_owned(), uri.host().unwrap_or_default().to_owned());
        vec![ModelServer { name: String::new(), provider, host, port }]
    }
}

impl<P> fmt::Debug for Door<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door")
            .field("config", &self.config)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
