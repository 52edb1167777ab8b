//! Any server with an OpenAI-compatible chat-completions endpoint: OpenAI, Ollama, llama.cpp,
//! vLLM, LM Studio, LiteLLM and their like.
//!
//! A request asks for the reply's form as strictly as the server takes it (`dialect`). Failures that may pass
//! are tried again after a wait; everything else is reported at once, in the server's own words.
//!
//! **Invariant:** a request that has given text to a token sink is tried again only where the caller is told
//! that the text is void. The number of requests for one question is bounded.

mod calls;
mod dialect;
mod messages;
mod reply;

pub use dialect::StructuredOutput;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::dialect::{Dialect, conclude};
use self::messages::render_body;
use self::reply::read_reply;
use crate::client::{AttemptError, Client, Endpoint, Request, Retry, Stage, parse_endpoint, show_address};
use planwright::machine::{FailureClass, ModelFailure, ModelReply, Usage};
use planwright::ports::{Cause, Model, ModelError, RetrySink, Secret, TokenSink, Unanswered};
use planwright::prompt::ModelRequest;

/// In how many forms one request may be put.
const MAX_FORMS: u32 = 6;

/// The settings of an [`OpenAi`] client.
#[derive(Clone)]
pub struct OpenAiConfig {
    /// A server such as `http://localhost:8080/v1`.
    pub base_url: String,
    /// The model to ask where a role names none.
    pub model: String,
    /// The key to send as `Authorization: Bearer …`. With an empty one the header is left out.
    pub api_key: Secret,
    /// Headers to send beside it, by name: `api-key` for Azure, `X-Title` for OpenRouter. No error shows a value.
    pub headers: Vec<(String, Secret)>,
    /// A file of certificates in PEM to trust instead of the usual ones. `SSL_CERT_FILE` names one for every client.
    pub ca_file: Option<PathBuf>,
    /// How long one try may take to connect. 10 s unless set.
    pub connect_timeout: Duration,
    /// How long one try may take, from looking up the name to the last byte. 300 s unless set.
    pub call_timeout: Duration,
    /// The longest time between two lines of a stream that has begun. 120 s unless set.
    pub idle_timeout: Duration,
    /// How often and how patiently a request is tried again while its failures may pass.
    pub retry: Retry,
    /// The largest response that is read, in bytes after decompression. 16 MiB unless set.
    pub max_response_bytes: usize,
    /// How a reply's form is asked for. [`StructuredOutput::Auto`] unless set.
    pub structured_output: StructuredOutput,
}

impl OpenAiConfig {
    /// The usual settings for a server and a model.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        OpenAiConfig {
            base_url: base_url.into(),
            model: model.into(),
            api_key: Secret::new(""),
            headers: Vec::new(),
            ca_file: None,
            connect_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(300),
            idle_timeout: Duration::from_secs(120),
            retry: Retry::default(),
            max_response_bytes: 16 << 20,
            structured_output: StructuredOutput::Auto,
        }
    }
}

/// Shows no password and no query of the address.
impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenAiConfig { base_url, model, retry, .. } = self;
        let mut shown = f.debug_struct("OpenAiConfig");
        shown.field("base_url", &show_address(base_url)).field("model", model).field("retry", retry);
        shown.finish_non_exhaustive()
    }
}

/// A client of an OpenAI-compatible server.
///
/// ```no_run
/// use planwright::ports::Secret;
/// use planwright_http::{OpenAi, OpenAiConfig};
///
/// let local = OpenAi::new(OpenAiConfig::new("http://localhost:11434/v1", "qwen3"))?;
/// let api_key = Secret::new(std::env::var("OPENAI_API_KEY").unwrap_or_default());
/// let hosted = OpenAiConfig::new("https://api.openai.com/v1", "gpt-4.1-mini");
/// let hosted = OpenAi::new(OpenAiConfig { api_key, ..hosted })?;
/// # Ok::<(), planwright::ports::ModelError>(())
/// ```
#[derive(Debug)]
pub struct OpenAi {
    config: OpenAiConfig,
    endpoint: Endpoint,
    client: Client,
    /// What each model was found to take, by the model's name.
    learned: Mutex<BTreeMap<String, Dialect>>,
}

impl OpenAi {
    /// Opens a client with these settings. Nothing is sent before the first request.
    ///
    /// # Errors
    /// [`Cause::NotFound`] if the base URL is not an HTTP address, [`Cause::Authentication`] if the key or another
    /// header holds a character that no header can carry, [`Cause::Connection`] if the file of certificates has none.
    pub fn new(config: OpenAiConfig) -> Result<Self, ModelError> {
        let endpoint = parse_endpoint(&config.base_url, "/chat/completions")
            .map_err(|message| ModelError::unanswered(Cause::NotFound, message))?;
        let refused = |cause| move |message: String| ModelError::unanswered(cause, message);
        let mut client = Client::with_key(&config.api_key).map_err(refused(Cause::Authentication))?;
        for (name, value) in &config.headers {
            client.add_header(name, value.expose()).map_err(refused(Cause::Authentication))?;
        }
        if let Some(file) = &config.ca_file {
            client.trust(file).map_err(refused(Cause::Connection))?;
        }
        client.retry = config.retry.clone();
        client.connect_timeout = config.connect_timeout;
        client.max_response_bytes = config.max_response_bytes;
        Ok(OpenAi { config, endpoint, client, learned: Mutex::default() })
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
            let body = render_body(request, model, *dialect, streams);
            let asked = Request { uri: &self.endpoint.0, body: Some(&body), idempotency_key: None };
            let answer =
                self.client.send(asked, time, time, stop).and_then(|response| match response.is_success() {
                    true => {
                        let sink = sink.as_mut().map(|sink| sink as _);
                        let reply = read_reply(&self.client, response, self.config.idle_timeout, sink, stop);
                        reply.map(|reply| with_usage(reply, &body))
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
            let simpler = dialect.without_refused(error, &request.frame, streams);
            let Some(simpler) = simpler.filter(|_| !has_streamed.get()) else {
                return conclude(error, request.frame.native_calls).unwrap_or(answer);
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
        let model = self.model_of(request);
        let known = self.learned().get(model).copied();
        let mut dialect = known.unwrap_or_else(|| Dialect::first(self.config.structured_output));
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
            let asked = self.attempt(request, &mut dialect, &mut sink, &has_streamed, &tell, stop);
            asked.map_err(|mut error| {
                error.transient &= retrying.is_some() || !has_streamed.get();
                error
            })
        });
        let error = match answer {
            Ok(reply) => return Ok(ModelReply { model: model.to_owned(), ..reply }),
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
        reply.usage = Usage { input_tokens, output_tokens, cached_tokens: 0, estimated_tokens };
    }
    reply
}

/// Four letters are a token, and so is a character of another script.
fn estimate_tokens(text: &str) -> u64 {
    let others = text.chars().filter(|character| !character.is_ascii()).count();
    let letters = text.bytes().filter(u8::is_ascii).count();
    (others + letters.div_ceil(4)) as u64
}

impl Model for OpenAi {
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
}
