//! Certificates: which are trusted, and what is said of one that is not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::machine::ModelReply;
use planwright::ports::Cause;
use planwright_http::{ModelConfig, Network, OpenAi};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::support::completion;
use super::{Asker, unanswered};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tls").join(name)
}

/// A server whose certificate the authority in `ca.pem` has signed. Returns its address.
fn serve() -> String {
    let chain = vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(config.clone()).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(connection, stream));
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|count| count > 2) {
                let value = line.to_lowercase();
                length =
                    value.strip_prefix("content-length:").map_or(length, |it| it.trim().parse().unwrap());
                line.clear();
            }
            if stream.read_exact(&mut vec![0; length]).is_ok() {
                let body = completion("믿는다").to_string();
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                let _ = stream.get_mut().write_all(format!("{head}{body}").as_bytes());
            }
        }
    });
    address
}

fn trusting(address: &str, ca_file: Option<PathBuf>) -> ModelConfig {
    let network = Network { ca_file, ..Network::default() };
    ModelConfig { network, ..ModelConfig::new(address, "m") }
}

#[test]
fn certificates_of_a_file_are_trusted_and_an_unknown_one_is_not_tried_again() {
    let address = serve();
    assert_eq!(Asker::new(trusting(&address, Some(file("ca.pem")))).ask().unwrap().text, "믿는다");
    let asker = Asker::new(trusting(&address, None));
    let error = unanswered(asker.ask(), Cause::Connection);
    assert!(error.message.contains("no TLS connection: invalid peer certificate: UnknownIssuer"), "{error}");
    assert_eq!((error.tries, asker.waits().len()), (1, 0));
}

#[test]
fn file_without_certificates_is_refused_at_once() {
    for (name, says) in [("server.key", "expected certificates in PEM"), ("없다.pem", "없다.pem: ")] {
        let opened = OpenAi::new(trusting("http://localhost/v1", Some(file(name))));
        let error = unanswered(opened.map(|_| ModelReply::default()), Cause::Connection);
        assert!(error.message.contains(says), "{error}");
    }
}
