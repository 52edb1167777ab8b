//! The embeddings client against a real server on loopback: what is asked, what is made of the
//! answers, and that nothing odd comes out as a vector.

use planwright::ports::{Embedder, Secret};
use planwright_http::{Embeddings, Network};
use serde_json::{Value, json};
use std::time::Duration;

use super::support::{Answer, Seen, Server};
use super::{Waits, noting};

const KEY: &str = "sk-embed-\"0123456789";

fn client(server: &Server) -> (Embeddings, Waits) {
    let (retry, waits) = noting();
    let client = Embeddings::new(&server.url(), "embedder", &Secret::new(KEY)).unwrap();
    (client.retry(retry), waits)
}

fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    texts.into_iter().map(Into::into).collect()
}

fn input(seen: &Seen) -> Vec<String> {
    serde_json::from_value(seen.json()["input"].clone()).expect("a list of texts")
}

/// An embedding that tells which text it is of.
fn vector(text: &str) -> Value {
    json!([text.chars().count(), text.len(), 0.5])
}

/// Answers every text, the last first.
fn backwards(seen: &Seen, _: usize) -> Answer {
    let input = input(seen);
    let entry =
        |(at, text): (usize, &String)| json!({"object": "embedding", "index": at, "embedding": vector(text)});
    let data: Vec<Value> = input.iter().enumerate().rev().map(entry).collect();
    Answer::json(200, &json!({"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 3}}))
}

#[test]
fn vectors_come_in_the_order_of_the_texts_whatever_the_servers() {
    let server = Server::start(backwards);
    let (client, _) = client(&server);
    let vectors = client.embed(&texts(["비밀유지", "a", "🦀 게"])).unwrap();
    assert_eq!(vectors, [[4.0, 12.0, 0.5], [1.0, 1.0, 0.5], [3.0, 8.0, 0.5]]);

    let seen = &server.seen()[0];
    assert_eq!(seen.target, "/v1/embeddings");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(seen.json(), json!({"model": "embedder", "input": ["비밀유지", "a", "🦀 게"]}));
}

#[test]
fn failures_are_told_without_the_key() {
    for answer in [
        Answer::error(503, &format!("하지만 {KEY}")),
        Answer::json(400, &json!({"odd": {"headers": [KEY]}})),
        Answer::body(200, "text/html", format!("<p>{KEY}")),
    ] {
        let error = client(&Server::answering([answer])).0.embed(&texts(["a"])).unwrap_err();
        assert!(!error.to_string().contains("sk-embed"), "{error}");
    }
}

#[test]
fn many_texts_are_asked_in_batches() {
    let server = Server::start(backwards);
    let (client, _) = client(&server);
    let all = texts((0..70).map(|nth| "가".repeat(nth + 1)));
    let vectors = client.embed(&all).unwrap();
    let expected: Vec<[f32; 3]> =
        (0..70_u8).map(|nth| f32::from(nth) + 1.0).map(|n| [n, 3.0 * n, 0.5]).collect();
    assert_eq!(vectors, expected);
    let sizes = |server: &Server| server.seen().iter().map(|seen| input(seen).len()).collect::<Vec<_>>();
    assert_eq!(sizes(&server), [32, 32, 6]);

    let server = Server::start(backwards);
    let (mut client, _) = self::client(&server);
    client.batch = 0;
    client.embed(&all[..3]).unwrap();
    assert_eq!(sizes(&server), [1, 1, 1]);

    // Long texts make small batches.
    let server = Server::start(backwards);
    let (client, _) = self::client(&server);
    client.embed(&texts((0..5).map(|_| "a".repeat(100_000)))).unwrap();
    assert_eq!(sizes(&server), [2, 2, 1]);
}

/// These texts are not sent.
#[track_caller]
fn check_unsent(texts: &[String], says: &str) {
    let server = Server::start(backwards);
    let error = client(&server).0.embed(texts).unwrap_err();
    assert_eq!((error.kind.to_string().as_str(), server.count()), ("input", 0));
    assert!(error.message.contains(says), "{error}");
}

#[test]
fn no_texts_need_no_server_and_texts_that_none_would_take_are_refused_by_number() {
    let server = Server::start(backwards);
    assert_eq!(client(&server).0.embed(&[]).unwrap(), Vec::<Vec<f32>>::new());
    assert_eq!(server.count(), 0);
    check_unsent(&texts(["a", " \n"]), "words in text 2, found none");
    check_unsent(&texts(["a".repeat(200_000)]), "bytes in text 1, found 200000");
    check_unsent(&vec!["a".to_owned(); 10_001], "at most 10000 texts");
}

/// An answer to two texts that is none.
#[track_caller]
fn check_unfit(answer: Value, says: &str) {
    let server = Server::answering([Answer::json(200, &answer)]);
    let error = client(&server).0.embed(&texts(["a", "b"])).unwrap_err();
    assert_eq!((error.kind.to_string().as_str(), server.count()), ("response", 1), "{error}");
    assert!(error.message.contains(says), "expected {says:?} in {error}");
}

#[test]
fn answer_that_does_not_fit_the_texts_is_an_error() {
    let entry = |index: Value, embedding: Value| json!({"index": index, "embedding": embedding});
    let of = |entries: Vec<Value>| json!({"data": entries});
    let good = || json!([1, 2]);
    let first = |embedding: Value| of(vec![entry(json!(0), embedding), entry(json!(1), good())]);
    let second = |embedding: Value| of(vec![entry(json!(0), good()), entry(json!(1), embedding)]);
    // Entries without an index stand in order.
    let answer = of(vec![json!({"embedding": [1]}), json!({"embedding": [2]})]);
    let server = Server::answering([Answer::json(200, &answer)]);
    assert_eq!(client(&server).0.embed(&texts(["a", "b"])).unwrap(), [[1.0], [2.0]]);
    check_unfit(json!({}), "a list \"data\"");
    check_unfit(json!([1]), "a list \"data\"");
    check_unfit(of(vec![]), "2 embeddings, found 0");
    check_unfit(of(vec![entry(json!(0), good())]), "2 embeddings, found 1");
    check_unfit(of(vec![entry(json!(1), good()), entry(json!(1), good())]), "found 1 in data[1]");
    check_unfit(of(vec![entry(json!(0), good()), entry(json!(2), good())]), "found 2 in data[1]");
    check_unfit(of(vec![entry(json!(-1), good()), entry(json!(0), good())]), "a list \"data\"");
    check_unfit(of(vec![entry(json!(0), good()), entry(json!("1"), good())]), "a list \"data\"");
    check_unfit(second(json!([1])), "2 numbers for each text, found 1 for text 2");
    check_unfit(second(json!([])), "for text 2, found 0");
    check_unfit(first(json!("AACAPw==")), "a list \"data\"");
    check_unfit(first(json!([1, null])), "a list \"data\"");
    check_unfit(first(json!([1, 1e300])), "finite numbers for text 1");
    check_unfit(first(json!(vec![0; 20_000])), "1 to 16384 numbers for text 1");
    // As many as there may be: what does not fit is the other text.
    check_unfit(first(json!(vec![0; 16_384])), "16384 numbers for each text");
    let server = Server::start(|_, nth| {
        Answer::json(200, &json!({"data": [{"index": 0, "embedding": vec![1; nth + 1]}]}))
    });
    let (mut client, _) = client(&server);
    client.batch = 1;
    let error = client.embed(&texts(["a", "b", "c"])).unwrap_err();
    assert!(error.message.contains("1 numbers for each text, found 2 for text 2"), "{error}");
}

#[test]
fn key_is_not_shown() {
    let server = Server::start(backwards);
    let (client, _) = client(&server);
    assert!(client.secrets() == [Secret::new(KEY)]);
    assert!(!format!("{client:?}").contains("sk-embed"));
    let none = Secret::new("");
    let told = Embeddings::new("localhost/v1?key=sk-embed", "e", &none).unwrap_err().to_string();
    assert!(!told.contains("sk-embed"), "{told}");
    let with_query = Embeddings::new("http://localhost/v1?key=sk-embed", "e", &none).unwrap();
    assert!(!format!("{with_query:?}").contains("sk-embed"));
}

#[test]
fn response_over_the_limit_is_not_read() {
    let server = Server::start(|_, _| Answer::broken_chunks((0..200).map(|_| " ".repeat(65_536))).hanging());
    let error = client(&server).0.embed(&texts(["a"])).unwrap_err();
    assert!(error.message.contains("at most 8388608 bytes"), "{error}");
    assert_eq!(server.count(), 1);
}

#[test]
fn request_is_bounded_in_time() {
    let server = Server::answering([Answer::silence()]);
    let (mut client, _) = client(&server);
    client.timeout = Duration::from_millis(300);
    let error = client.embed(&texts(["a"])).unwrap_err();
    assert_eq!(error.kind, "timeout", "{error}");
}

#[test]
fn further_headers_are_sent_and_a_stop_ends_the_tries() {
    let server = Server::start(backwards);
    let header = |client: Embeddings| client.header("api-key", &Secret::new("geheim")).unwrap();
    header(client(&server).0).embed(&texts(["a"])).unwrap();
    assert_eq!(server.seen()[0].header("api-key"), Some("geheim"));
    assert!(
        header(client(&server).0).secrets().contains(&Secret::new("geheim")),
        "nothing that is kept holds it"
    );
    let refuses = |network: Network| client(&server).0.through(&network).unwrap_err().message;
    refuses(Network { ca_file: Some("no such file".into()), ..Network::default() });
    let proxy = Some("http://user:hunter2@proxy.example:3128".to_owned());
    let network = Network { proxy, ..Network::default() };
    assert!(!format!("{network:?}").contains("hunter2"), "{network:?}");
    let refused = refuses(network);
    assert!(refused.contains("a user name") && !refused.contains("hunter2"), "{refused}");

    let server = Server::answering([Answer::error(503, "busy"), Answer::error(503, "busy")]);
    let asked = || server.count() > 0;
    client(&server).0.embed_until(&texts(["a"]), &asked).unwrap_err();
    assert_eq!(server.count(), 1);
}
