//! Several servers, of which the first that answers is heard.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use planwright::machine::ModelReply;
use planwright::ports::{Cause, Model, ModelError, ModelServer, RetrySink, Secret, TokenSink, Unanswered};
use planwright::prompt::ModelRequest;
use planwright::spec::RequestFrame;

/// A model that asks the next of its models where one is interrupted: by a rate limit, a used-up quota, a server that
/// fails, a connection or a time-out. Each is asked as often as its own settings say. A wrong key or an unknown model
/// is not hidden. Who answered is on record as [`ModelReply::server`].
///
/// ```no_run
/// use planwright_http::{Anthropic, Fallback, ModelConfig, OpenAi};
///
/// let first = Anthropic::new(ModelConfig::new("https://api.anthropic.com", "claude-sonnet-4-5"))?;
/// let second = OpenAi::new(ModelConfig::new("http://localhost:11434/v1", "qwen3"))?;
/// let model = Fallback::new("anthropic", first).or("local", second);
/// # Ok::<(), planwright::ports::ModelError>(())
/// ```
pub struct Fallback {
    name: String,
    models: Vec<(String, Arc<dyn Model>)>,
}

impl Fallback {
    /// A model that is asked first, under the name that goes on record.
    pub fn new(name: impl Into<String>, model: impl Model + 'static) -> Self {
        Fallback { name: model.name().to_owned(), models: vec![(name.into(), Arc::new(model))] }
    }

    /// The model that is asked after those before it. It is asked as itself, whatever model a role names.
    #[must_use]
    pub fn or(mut self, name: impl Into<String>, model: impl Model + 'static) -> Self {
        self.models.push((name.into(), Arc::new(model)));
        self
    }

    fn ask_each(
        &self,
        request: &ModelRequest,
        mut tokens: Option<TokenSink<'_>>,
        retrying: Option<RetrySink<'_>>,
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        let most = self.models.len();
        let mut problems = Vec::new();
        for (at, (name, model)) in (1..).zip(&self.models) {
            let itself = (at > 1 && request.frame.model.is_some()).then(|| without_model(request));
            let request = itself.as_ref().unwrap_or(request);
            let has_streamed = Cell::new(false);
            let mut sink = tokens.as_mut().map(|sink| {
                |text: &str| {
                    has_streamed.set(true);
                    sink(text);
                }
            });
            let sink = sink.as_mut().map(|sink| sink as TokenSink<'_>);
            let answer = match retrying {
                Some(retrying) => model.ask_until(request, sink, retrying, stop),
                None => model.ask(request, sink),
            };
            let error = match answer {
                Ok(reply) => return Ok(ModelReply { server: name.clone(), ..reply }),
                Err(ModelError::Unanswered(error)) => error,
                Err(failed) => return Err(failed),
            };
            // What was streamed is void only where the caller is told.
            let may_go_on = retrying.is_some() || !has_streamed.get();
            if at == most || !is_interruption(error.cause) || !may_go_on || stop() {
                problems.push(error.message);
                return Err(ModelError::Unanswered(Unanswered { message: problems.join("; "), ..error }));
            }
            if let Some(retrying) = retrying {
                let told = Unanswered { tries: at as u32, ..error.clone() };
                retrying(&told, most as u32, Duration::ZERO);
            }
            problems.push(error.to_string());
        }
        Err(ModelError::unanswered(Cause::Unavailable, "there is no model to ask"))
    }
}

/// Whether another server may do better.
fn is_interruption(cause: Cause) -> bool {
    use Cause::{Connection, Quota, RateLimit, Server, Timeout};
    matches!(cause, RateLimit | Quota | Server | Connection | Timeout)
}

/// The request to the model that its server is configured with.
fn without_model(request: &ModelRequest) -> ModelRequest {
    let frame = RequestFrame { model: None, ..(*request.frame).clone() };
    ModelRequest { frame: Arc::new(frame), ..request.clone() }
}

impl Model for Fallback {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        self.ask_each(request, tokens, None, &|| false)
    }

    fn ask_until(
        &self,
        request: &ModelRequest,
        tokens: Option<TokenSink<'_>>,
        retrying: RetrySink<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        self.ask_each(request, tokens, Some(retrying), stop)
    }

    fn servers(&self) -> Vec<ModelServer> {
        let named = |(name, model): &(String, Arc<dyn Model>)| {
            let name = name.clone();
            model.servers().into_iter().map(move |server| ModelServer { name: name.clone(), ..server })
        };
        self.models.iter().flat_map(named).collect()
    }

    fn secrets(&self) -> Vec<Secret> {
        self.models.iter().flat_map(|(_, model)| model.secrets()).collect()
    }
}
