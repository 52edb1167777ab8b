//! Connections: accepted, bounded in what a head may be and in how long it may take, and ended with the service.

use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::options::Options;

/// Most bytes of a request's head.
const MOST_HEAD: usize = 32 << 10;
/// How long to wait where the system has no file left for a connection.
const BREATH: Duration = Duration::from_millis(100);

/// The address that a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote(pub IpAddr);

/// Answers what comes until the service has stopped, then ends each connection with the reply that is under way. A
/// head must arrive within a time.
pub(crate) async fn accept(
    listener: TcpListener,
    app: Router,
    options: &Options,
    stopped: impl Future<Output = ()>,
) {
    let connections = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(options.arrives_within).max_header_size(MOST_HEAD);
    tokio::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stopped => break,
        };
        let Ok((stream, remote)) = accepted else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        // An event is sent when it happens.
        let _ = stream.set_nodelay(true);
        end_where_nothing_is_taken(&stream, options.reader_patience);
        let app = app.clone();
        let answer = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Remote(remote.ip()));
            app.clone().call(request)
        });
        let connection = http.serve_connection(TokioIo::new(stream), answer);
        // A client that breaks off is none of ours.
        tokio::spawn(connections.watch(connection));
    }
    drop(listener);
    connections.shutdown().await;
}

/// Has the system end a connection whose other end takes nothing for so long, and what waits for it with it.
#[cfg(target_os = "linux")]
fn end_where_nothing_is_taken(stream: &TcpStream, patience: Duration) {
    // A reader who was cut off and comes back in time can still read why.
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(4 * patience));
}

/// Other systems have no such time: there a connection ends with its other end.
#[cfg(not(target_os = "linux"))]
fn end_where_nothing_is_taken(_: &TcpStream, _: Duration) {}
