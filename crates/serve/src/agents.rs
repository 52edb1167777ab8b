//! Agents as resources: each as JSON, as TOML, as a diagram, and with its bounds.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::IntoResponse;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::describe::{ReadsAgent, Shows};
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::service::{Service, Shared};
use planwright::machine::explore::{mermaid, sketch};
use planwright::spec::{CompiledSpec, Spec};
use planwright_app::AgentLine;
use planwright_app::shapes::{AgentName, AgentSpec, Bounds};

/// The agents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentsReply {
    agents: Vec<AgentLine>,
}

/// The agents that a question may name.
#[utoipa::path(get, path = "/agents", tag = "agents", responses((status = 200, body = AgentsReply), Shows))]
pub(crate) async fn list_agents(State(service): State<Shared>) -> Result<Json<AgentsReply>> {
    read(move || {
        let line = |name: String| Ok(AgentLine::of(&service.spec_of(&name)?, &service.default_agent));
        let agents = service.agent_names().into_iter().map(line).collect::<Result<_>>()?;
        Ok(Json(AgentsReply { agents }))
    })
    .await
}

/// An agent's spec, whole.
#[utoipa::path(
    get, path = "/agents/{name}", tag = "agents",
    params(("name" = AgentName, Path, description = "The agent")),
    responses((status = 200, body = AgentSpec), ReadsAgent)
)]
pub(crate) async fn show_agent(State(service): State<Shared>, agent: Named) -> Result<Json<Value>> {
    read(move || Ok(Json(json!(agent.spec(&service)?)))).await
}

/// An agent's spec as TOML, which `--agent FILE` reads.
#[utoipa::path(
    get, path = "/agents/{name}/toml", tag = "agents",
    params(("name" = AgentName, Path, description = "The agent")),
    responses((status = 200, body = String, content_type = "application/toml"), ReadsAgent)
)]
pub(crate) async fn show_agent_toml(
    State(service): State<Shared>,
    agent: Named,
) -> Result<impl IntoResponse> {
    let text = read(move || {
        agent.spec(&service)?;
        service.source_of(&agent.0)
    });
    Ok(([(header::CONTENT_TYPE, "application/toml")], text.await?))
}

/// The phase graph of an agent, as a Mermaid diagram.
#[utoipa::path(
    get, path = "/agents/{name}/diagram", tag = "agents",
    params(("name" = AgentName, Path, description = "The agent")),
    responses((status = 200, body = String, content_type = "text/vnd.mermaid"), ReadsAgent)
)]
pub(crate) async fn draw_agent(State(service): State<Shared>, agent: Named) -> Result<impl IntoResponse> {
    let text = read(move || Ok(mermaid(&sketch(&agent.compile(&service)?))));
    Ok(([(header::CONTENT_TYPE, "text/vnd.mermaid")], text.await?))
}

/// The most that any run of an agent can do.
#[utoipa::path(
    get, path = "/agents/{name}/bounds", tag = "agents",
    params(("name" = AgentName, Path, description = "The agent")),
    responses((status = 200, body = Bounds), ReadsAgent)
)]
pub(crate) async fn show_agent_bounds(State(service): State<Shared>, agent: Named) -> Result<Json<Value>> {
    read(move || Ok(Json(json!(agent.compile(&service)?.bounds())))).await
}

/// The agent that a path names.
pub(crate) struct Named(String);

impl<S: Send + Sync> axum::extract::FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut axum::http::request::Parts, state: &S) -> Result<Self> {
        let named = Path::<String>::from_request_parts(parts, state).await;
        named.map(|Path(name)| Named(name)).map_err(|refused| Problem::new(Kind::Input, refused.body_text()))
    }
}

impl Named {
    pub fn name(&self, service: &Service) -> Result<&str> {
        match service.agent_names().contains(&self.0) {
            true => Ok(&self.0),
            false => Err(service.no_such_agent(&self.0)),
        }
    }

    fn spec(&self, service: &Service) -> Result<Spec> {
        service.spec_of(self.name(service)?)
    }

    fn compile(&self, service: &Service) -> Result<CompiledSpec> {
        self.spec(service)?.check().map_err(|error| Problem::new(Kind::Input, error.to_string()))
    }
}
