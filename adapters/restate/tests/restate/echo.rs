//! A model that every worker has alike: its plan is the question itself.

use planwright::machine::ModelReply;
use planwright::ports::{Model, ModelError, TokenSink};
use planwright::prompt::ModelRequest;
use serde_json::{Value, json};

/// Says the question as its plan, and the end of everything else.
pub struct Echo;

impl Model for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn ask(&self, asked: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let payload: Value = serde_json::from_str(&asked.payload).unwrap_or_default();
        let question = payload["user_question"].as_str().unwrap_or_default();
        let reply = match asked.frame.role.to_string().as_str() {
            "planner" | "replanner" => format!(r#"{{"goal": "a goal", "steps": {question}}}"#),
            _ => json!({"final": "the end"}).to_string(),
        };
        Ok(ModelReply::text(reply))
    }
}
