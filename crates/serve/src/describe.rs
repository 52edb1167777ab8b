//! The description of the interface: which problems a path may answer with, and the shapes that the engine gives.

use std::collections::BTreeMap;

use axum::Extension;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::example::ExampleBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, OpenApi};

use crate::guard::is_open_path;
use crate::openai_error::{OpenAiError, error_of, status_of};
use crate::problem::{Kind, Problem};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "planwright",
        description = "Threads of LLM agents on an explicit state machine: asked, answered, looked at.",
    ),
    components(schemas(Problem, OpenAiError))
)]
pub(crate) struct Description;

/// The description as it is sent.
#[derive(Clone)]
pub(crate) struct Document(axum::body::Bytes);

/// The shapes of the engine, and what the types of a request do not say of themselves.
const SHAPES: &str = include_str!("shapes.json");
/// A reply of each path where all goes well, by method and path and then by media type.
const EXAMPLES: &str = include_str!("examples.json");

impl Document {
    pub fn of(description: &utoipa::openapi::OpenApi) -> Self {
        let mut document = json!(description);
        let shapes = serde_json::from_str(SHAPES).expect("shapes.json is JSON");
        merge(&mut document["components"]["schemas"], shapes);
        let methods = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
        let methods = methods.filter_map(Value::as_object_mut).flat_map(|methods| methods.values_mut());
        let lists = methods.filter_map(|method| method.get_mut("parameters")?.as_array_mut());
        lists.flatten().for_each(|parameter| drop_null(&mut parameter["schema"]));
        document["components"]["securitySchemes"]["key"] =
            json!({"type": "http", "scheme": "bearer", "description": "Needed where keys are configured."});
        for (path, methods) in document["paths"].as_object_mut().into_iter().flatten() {
            for operation in methods.as_object_mut().into_iter().flat_map(Map::values_mut) {
                if !is_open_path(path) {
                    operation["security"] = json!([{"key": []}, {}]);
                }
            }
        }
        put_examples(&mut document["paths"]);
        Document(document.to_string().into())
    }
}

/// Puts the examples beside the schemas of the replies they are examples of.
fn put_examples(paths: &mut Value) {
    let examples: Map<String, Value> = serde_json::from_str(EXAMPLES).expect("examples.json is JSON");
    for (request, by_type) in &examples {
        let (method, path) = request.split_once(' ').expect("a method and a path");
        let responses = paths[path][method.to_lowercase()]["responses"].as_object_mut();
        for response in responses.into_iter().flat_map(Map::values_mut) {
            let content = response.get_mut("content").and_then(Value::as_object_mut);
            for (media_type, about) in content.into_iter().flatten() {
                if let Some(example) = by_type.get(media_type).filter(|_| about.get("examples").is_none()) {
                    about["example"] = example.clone();
                }
            }
        }
    }
}

/// Says that a parameter is never null: it is there or not.
fn drop_null(schema: &mut Value) {
    let one_of = schema["oneOf"].as_array().cloned().unwrap_or_default();
    if let [null, other] = &one_of[..]
        && null["type"] == "null"
    {
        *schema = other.clone();
    }
}

/// Puts one value over another, object by object.
fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            over.into_iter().for_each(|(key, value)| merge(under.entry(key).or_insert(Value::Null), value));
        }
        (under, over) => *under = over,
    }
}

/// This description.
#[utoipa::path(
    get, path = "/openapi.json", tag = "health",
    responses((status = 200, body = Object, description = "An OpenAPI 3.1 document"), Refuses)
)]
pub(crate) async fn describe_interface(Extension(Document(text)): Extension<Document>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], text)
}

/// What any request may be answered with, and what any that wants a key.
const ANYWHERE: [Kind; 3] = [Kind::Forbidden, Kind::Late, Kind::TooLarge];
const GUARDED: [Kind; 3] = [Kind::NoKey, Kind::TooOften, Kind::Store];

/// How a door writes its problems.
struct Form {
    content_type: &'static str,
    guarded: &'static [Kind],
    /// The name of the schema.
    schema: &'static str,
    status: fn(StatusCode) -> StatusCode,
    write: fn(&Problem) -> Value,
}

const PROBLEM: Form = Form {
    content_type: "application/problem+json",
    guarded: &GUARDED,
    schema: "Problem",
    status: |status| status,
    write: |problem| json!(problem),
};

/// Where a key is not wanted.
const OPEN: Form = Form { guarded: &[], ..PROBLEM };

const OPENAI: Form = Form {
    content_type: "application/json",
    guarded: &GUARDED,
    schema: "OpenAiError",
    status: status_of,
    write: |problem| error_of(&json!(problem)),
};

/// The problems of a path, in the form of its door.
fn describe(form: &Form, kinds: &[Kind]) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<String, Vec<Kind>> = BTreeMap::new();
    for kind in ANYWHERE.iter().chain(form.guarded).chain(kinds) {
        by_status.entry((form.status)(kind.status()).as_u16().to_string()).or_default().push(*kind);
    }
    by_status.into_iter().map(|(status, kinds)| (status, describe_status(form, &kinds).into())).collect()
}

fn describe_status(form: &Form, kinds: &[Kind]) -> Response {
    let titles: Vec<&str> = kinds.iter().map(|kind| kind.title()).collect();
    let examples = kinds.iter().map(|kind| {
        let problem = Problem::new(*kind, "what is wrong here, and where");
        (kind.word(), ExampleBuilder::new().value(Some((form.write)(&problem))).build())
    });
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name(form.schema)))
        .examples_from_iter(examples)
        .build();
    let response = ResponseBuilder::new().description(titles.join("; ")).content(form.content_type, content);
    let seconds = ObjectBuilder::new().schema_type(Type::Integer);
    match kinds.iter().any(|kind| kind.may_be_tried_again()) {
        true => response.header("Retry-After", HeaderBuilder::new().schema(seconds).build()).build(),
        false => response.build(),
    }
}

/// The problems of what speaks JSON-RPC, whose own errors are messages as well.
pub(crate) struct McpProblems;

impl IntoResponses for McpProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let kinds = [Kind::Message, Kind::NoSession, Kind::NoMethod, Kind::NotAcceptable, Kind::MediaType];
        let mut responses = describe(&PROBLEM, &kinds);
        for status in [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND] {
            if let Some(RefOr::T(response)) = responses.get_mut(status.as_str()) {
                let message = ContentBuilder::new().schema(Some(ObjectBuilder::new())).build();
                response.content.insert("application/json".to_owned(), message);
            }
        }
        responses
    }
}

macro_rules! problems {
    ($($(#[$about:meta])* $name:ident, $form:ident: $($kind:ident),*;)*) => {$(
        $(#[$about])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                describe(&$form, &[$(Kind::$kind),*])
            }
        }
    )*};
}

problems! {
    /// The problems of what says whether the process lives.
    Lives, OPEN: ;
    /// The problems of what is sent whole.
    Refuses, PROBLEM: ;
    /// The problems of what has no parameters.
    Shows, PROBLEM: TooMuch;
    /// The problems of what reads many threads.
    Lists, PROBLEM: Input, TooMuch;
    /// The problems of what reads one thread.
    Reads, PROBLEM: NoThread, NoTurn, Input, TooMuch;
    /// The problems of what replays a turn.
    Replays, PROBLEM: NoThread, NoTurn, NoAgent, Input, TooMuch;
    /// The problems of what reads an agent.
    ReadsAgent, PROBLEM: NoAgent, Input, TooMuch;
    /// The problems of what changes a thread.
    Changes, PROBLEM: NoThread, NoTurn, Busy, Answer, Open, InDoubt, Exists, Input;
    /// The problems of what lets a thread run.
    Runs, PROBLEM: NoThread, NoAgent, Reused, Busy, Answer, Open, InDoubt, Input, TooMany, Interrupted, Stopping;
    /// The problems of what says whether the service is ready.
    Readiness, OPEN: NotReady;
    /// The problems of what lists the models.
    ListsModels, OPENAI: TooMuch;
    /// The problems of what reads a model.
    ReadsModel, OPENAI: NoAgent, Input, TooMuch;
    /// The problems of a completion.
    Completes, OPENAI: NoAgent, Busy, Open, InDoubt, Input, TooMany, Interrupted, Stopping;
}
