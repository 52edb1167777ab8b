//! The session that a store keeps beside its connections. It holds the lock by which others see that the store's
//! holder is alive, says of which threads something was written, and hears what others say.
//!
//! The lock ends with the session, and no clock of ours is asked: the server ends a session whose process is gone,
//! whose network is cut, or that asks nothing for too long.

use std::future::poll_fn;
use std::sync::mpsc as std_mpsc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use planwright::journal::system::random_id;
use planwright::journal::{Heard, JournalErrorKind, ThreadId};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_postgres::{AsyncMessage, Client};

use crate::address::Server;
use crate::fault::Fault;

/// How many threads may wait to be told of. What finds no room is not told: who reads looks from time to time as well.
const ROOM: usize = 1024;
/// How soon after something was told the next is: what is written meanwhile is told in one.
const GATHERS: Duration = Duration::from_millis(5);
/// How soon a session that was lost is begun anew.
const PAUSE: Duration = Duration::from_millis(300);
/// How often the first session is begun anew before who waits for it is told why.
const MOST_TRIES: u32 = 20;

/// Who is told what other processes do.
pub(crate) type Listener = Arc<OnceLock<Box<dyn Fn(Heard) + Send + Sync>>>;

/// The handle of the session. When it is dropped, what is still to be told is told, and the lock is given back.
pub(crate) struct Session {
    /// The holder's id, `PID@ADDRESS-KEY`, which is never given twice.
    pub id: String,
    said: Option<Sender<ThreadId>>,
    ended: Mutex<std_mpsc::Receiver<()>>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.said = None;
        // A server that does not answer ends the session by itself.
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = ended.recv_timeout(Duration::from_secs(2));
    }
}

impl Session {
    /// Begins the session, and waits until it has the lock.
    pub fn begin(server: &Server, listener: &Listener) -> Result<Self, Fault> {
        let (said, to_say) = mpsc::channel(ROOM);
        let (ready, is_ready) = std_mpsc::sync_channel(1);
        let (ends, ended) = std_mpsc::sync_channel(1);
        let (server, listener, key) = (server.clone(), Arc::clone(listener), random_id());
        let keeper = Keeper { server, listener, key, to_say, ready: Some(ready) };
        let broken =
            |error: std::io::Error| Fault::new(JournalErrorKind::Io, format!("no session begins: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(broken)?;
        let thread = std::thread::Builder::new().name("planwright-postgres".to_owned());
        let keep = move || {
            runtime.block_on(keeper.keep());
            let _ = ends.send(());
        };
        thread.spawn(keep).map_err(broken)?;
        let address = is_ready.recv().expect("keep() says how it began")?;
        let id = format!("{}@{address}-{key:016x}", std::process::id());
        Ok(Session { id, said: Some(said), ended: Mutex::new(ended) })
    }

    /// Has others told that something was written of a thread.
    pub fn tell(&self, thread: &ThreadId) {
        if let Some(said) = &self.said {
            let _ = said.try_send(thread.clone());
        }
    }

    /// A holder's name for people.
    pub fn describe(holder: &str) -> String {
        let (process, address) =
            holder.rsplit_once('-').unwrap_or((holder, "")).0.split_once('@').unwrap_or((holder, ""));
        let at = if address.is_empty() { "" } else { " at " };
        format!("process {process}{at}{address}")
    }
}

struct Keeper {
    server: Server,
    listener: Listener,
    key: u64,
    to_say: Receiver<ThreadId>,
    /// Who waits for the first session.
    ready: Option<std_mpsc::SyncSender<Result<String, Fault>>>,
}

impl Keeper {
    async fn keep(mut self) {
        let mut tries = 0;
        while let Err(error) = self.hold().await.map_err(Fault::from) {
            tries += 1;
            if (tries > MOST_TRIES || !error.is_lost())
                && let Some(ready) = self.ready.take()
            {
                return drop(ready.send(Err(error)));
            }
            tokio::time::sleep(PAUSE).await;
            if self.to_say.is_closed() {
                return;
            }
        }
    }

    /// One session, until it is lost or the store is closed.
    async fn hold(&mut self) -> Result<(), postgres::Error> {
        let (client, mut connection) = self.server.config.connect(self.server.tls.clone()).await?;
        let (listener, own) = (Arc::clone(&self.listener), format!("{:016x}:", self.key));
        let hear = async move {
            loop {
                match poll_fn(|cx| connection.poll_message(cx)).await {
                    Some(Ok(AsyncMessage::Notification(note))) => {
                        let thread = note.payload().split_once(':').map(|(_, thread)| thread.parse());
                        if let (Some(Ok(thread)), Some(hear), false) =
                            (thread, listener.get(), note.payload().starts_with(&own))
                        {
                            hear(Heard::Written(thread));
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error),
                    // What is asked of a connection that is closed says so.
                    None => std::future::pending().await,
                }
            }
        };
        tokio::select! {
            lost = hear => lost,
            done = self.talk(client) => done,
        }
    }

    async fn talk(&mut self, client: Client) -> Result<(), postgres::Error> {
        // A note may be lost with the server's memory: who reads looks from time to time as well.
        let patience = self.server.patience.as_millis();
        client
            .batch_execute(&format!(
                "SET search_path TO planwright; SET synchronous_commit TO off; SET idle_session_timeout TO {patience}; \
                 SET tcp_keepalives_idle TO 10; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 2"
            ))
            .await?;
        // The server may not have noticed yet that the session before is gone.
        let key = self.key as i64;
        while !client.query_one("SELECT pg_try_advisory_lock($1)", &[&key]).await?.get::<_, bool>(0) {
            tokio::time::sleep(PAUSE).await;
        }
        let mut listens = listen(&client).await?;
        let from = client.query_one("SELECT coalesce(host(inet_client_addr()), '')", &[]).await?;
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(Ok(from.get(0)));
        }
        let tell = client
            .prepare("SELECT pg_notify('planwright', $1 || thread) FROM unnest($2::text[]) AS thread")
            .await?;
        let left = client.prepare(FIND_LEFT).await?;
        let own = format!("{:016x}:", self.key);
        let look = (self.server.patience / 4).min(Duration::from_secs(2));
        let mut threads = Vec::new();
        loop {
            let count = tokio::select! {
                count = self.to_say.recv_many(&mut threads, ROOM) => Some(count),
                () = tokio::time::sleep(look) => None,
            };
            match count {
                Some(0) => return Ok(()),
                Some(_) => {
                    threads.sort_unstable();
                    threads.dedup();
                    let names: Vec<&str> = threads.iter().map(ThreadId::as_str).collect();
                    client.query(&tell, &[&own, &names]).await?;
                    threads.clear();
                    tokio::time::sleep(GATHERS).await;
                }
                None => {
                    // This also says that the session is alive.
                    let found = client.query(&left, &[]).await?;
                    if !listens {
                        listens = listen(&client).await?;
                    }
                    let names = found.iter().filter_map(|row| row.get::<_, &str>(0).parse().ok());
                    let listener = self.listener.get();
                    names.for_each(|thread| {
                        listener.into_iter().for_each(|hear| hear(Heard::Left(Clone::clone(&thread))))
                    });
                }
            }
        }
    }
}

/// Listens to what others say. A standby cannot: who reads there looks from time to time, until it has taken over.
async fn listen(client: &Client) -> Result<bool, postgres::Error> {
    let can = client.query_one("SELECT NOT pg_is_in_recovery()", &[]).await?.get(0);
    if can {
        client.batch_execute("LISTEN planwright").await?;
    }
    Ok(can)
}

/// Selects the threads whose holder died amid a turn: what each session looks for from time to time. Who is alive is
/// asked once for each holder.
pub const FIND_LEFT: &str = concat!(
    "SELECT name FROM thread AS it WHERE it.holder IS NOT NULL AND turns > 0 AND NOT noted AND it.holder IN ( \
       SELECT holder FROM (SELECT DISTINCT holder FROM thread WHERE holder IS NOT NULL) AS thread WHERE NOT ",
    crate::row::alive!(),
    ")"
);
