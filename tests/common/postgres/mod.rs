//! A Postgres server of the tests' own: a private cluster in a temporary folder, ended with the process that began
//! it, however that ends.
//!
//! Without Postgres, the tests that need it say so and are not run; with `PLANWRIGHT_POSTGRES=required` they fail.
#![allow(dead_code, reason = "each binary uses a part of it")]

use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// `nobody`: Postgres refuses to run as root.
const NOBODY: u32 = 65_534;

/// Runs a server until its input is closed, and removes the folder unless it is to be kept.
const KEEPER: &str = "trap '' INT; \"$@\" >>\"$DIR/log\" 2>&1 & cat >/dev/null; \
     [ -e \"$DIR/kill\" ] && kill -QUIT $! || kill -INT $!; wait $!; [ -e \"$DIR/keep\" ] || rm -rf \"$DIR\" $NOTE";

/// What a new server is made with.
const INIT: [&str; 8] = ["-U", "planwright", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"];

/// The folder of Postgres's programs.
fn programs() -> Option<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    folders
        .into_iter()
        .rev()
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").exists())
}

/// A running server.
pub struct Cluster {
    folder: PathBuf,
    pub port: u16,
    settings: Vec<String>,
    /// None if another process keeps it.
    keeper: Option<Child>,
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// A command that does not run as root.
fn command(program: PathBuf, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C.UTF-8");
    if is_root() {
        chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// A new folder with a server's files in `data`, made by one of Postgres's programs.
fn make_folder(program: &str, args: &[&str]) -> PathBuf {
    let folder = tempfile::Builder::new().prefix("planwright-pg-").tempdir().unwrap().keep();
    let made = command(programs().unwrap().join(program), &folder).args(["-D", "data"]).args(args).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder
}

impl Cluster {
    /// Starts a server with nothing in it. `settings` are its own, such as `fsync=on`.
    pub fn start(settings: &[&str]) -> Self {
        Cluster::start_noted(settings, None)
    }

    /// As [`start`](Cluster::start), with a file that goes with the server.
    fn start_noted(settings: &[&str], note: Option<&Path>) -> Self {
        // A binary with other tests asks first.
        if !is_here() {
            std::process::exit(0);
        }
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Cluster::run(make_folder("initdb", &INIT), settings, note, &[])
    }

    /// Starts a server whose folder `small` is a disk of one megabyte. `None` where the system lets nobody but root
    /// mount one.
    pub fn start_with_a_small_disk() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut probe = command("unshare".into(), folder.path());
        let may = probe.args(["-Urm", "true"]).status();
        if !may.is_ok_and(|status| status.success()) {
            let why = "a small disk cannot be mounted here: `unshare -Urm` is refused";
            let _ = writeln!(std::io::stderr().lock(), "\nSKIPPED a full disk: {why}");
            return None;
        }
        let folder = make_folder("initdb", &INIT);
        // The server must not believe that it is root: a second namespace gives it back its own user.
        let mount = "mkdir small && mount -t tmpfs -o size=1m,mode=0700 small small && \
             exec unshare -U --map-user=1000 --map-group=1000 \"$@\"";
        let wrapper = ["unshare", "-Urm", "/bin/sh", "-c", mount, "small"];
        Some(Cluster::run(folder, Vec::new(), None, &wrapper))
    }

    /// Starts a standby of this server, which follows it.
    pub fn standby(&self) -> Self {
        let from = self.address("postgres");
        let folder = make_folder("pg_basebackup", &["-R", "-X", "stream", "-c", "fast", "-d", &from]);
        Cluster::run(folder, Vec::new(), None, &[])
    }

    /// A file in the folder of the server.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file that only the server may read.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        if is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    fn run(folder: PathBuf, settings: Vec<String>, note: Option<&Path>, wrapper: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Cluster::run_at(port, folder, settings, note, wrapper)
    }

    fn run_at(
        port: u16,
        folder: PathBuf,
        settings: Vec<String>,
        note: Option<&Path>,
        wrapper: &[&str],
    ) -> Self {
        let mut keeper = command("/bin/sh".into(), &folder);
        keeper.env("DIR", &folder).env("NOTE", note.unwrap_or(Path::new("")));
        keeper.args(["-c", KEEPER, "keeper"]).args(wrapper).arg(programs().unwrap().join("postgres"));
        keeper.args(["-D", "data", "-k"]).arg(&folder).args(["-p", &port.to_string()]);
        keeper.args([
            "-h",
            "127.0.0.1",
            "-c",
            "max_connections=300",
            "-c",
            "fsync=off",
            "-c",
            "wal_level=replica",
        ]);
        keeper.args(settings.iter().flat_map(|setting| ["-c", setting]));
        let keeper = Some(keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
        let cluster = Cluster { folder, port, settings, keeper };
        cluster.wait_until_ready();
        cluster
    }

    fn wait_until_ready(&self) {
        let since = Instant::now();
        let config = format!("host=127.0.0.1 port={} user=planwright dbname=postgres", self.port);
        while let Err(error) = postgres::Client::connect(&config, postgres::NoTls) {
            let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(since.elapsed() < Duration::from_secs(60), "{error}\n{log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server, kindly or as a loss of power would, and starts it again.
    pub fn restart(self, kindly: bool) -> Self {
        self.stop(kindly).start_again()
    }

    /// Stops the server, kindly or as a loss of power would.
    pub fn stop(mut self, kindly: bool) -> Stopped {
        std::fs::write(self.folder.join("keep"), "").unwrap();
        if !kindly {
            std::fs::write(self.folder.join("kill"), "").unwrap();
        }
        self.end();
        let _ = std::fs::remove_file(self.folder.join("kill"));
        Stopped { folder: self.folder.clone(), port: self.port, settings: self.settings.clone() }
    }

    fn end(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            drop(keeper.stdin.take());
            let _ = keeper.wait();
        }
    }

    /// The address of a database of this server.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://planwright@127.0.0.1:{}/{database}", self.port)
    }

    /// A new database.
    pub fn database(&self) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let nth = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{nth}", std::process::id());
        self.client("postgres").batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        self.address(&name)
    }

    /// A connection to a database, past the store.
    pub fn client(&self, database: &str) -> postgres::Client {
        connect(&self.address(database))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}

/// A server that was stopped.
pub struct Stopped {
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
}

impl Stopped {
    /// A file in the folder of the server.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn start_again(self) -> Cluster {
        let cluster = Cluster::run_at(self.port, self.folder, self.settings, None, &[]);
        let _ = std::fs::remove_file(cluster.folder.join("keep"));
        cluster
    }
}

/// A connection to an address, past the store.
pub fn connect(address: &str) -> postgres::Client {
    postgres::Client::connect(address, postgres::NoTls).unwrap()
}

/// The server that the tests of a process share with the processes that they start.
pub fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let note = |owner: u32| std::env::temp_dir().join(format!("planwright-pg-of-{owner}"));
        let found = std::fs::read_to_string(note(std::os::unix::process::parent_id()));
        if let Some((folder, port)) = found.ok().as_deref().and_then(|found| found.split_once('\n')) {
            let settings = Vec::new();
            return Cluster { folder: folder.into(), port: port.parse().unwrap(), settings, keeper: None };
        }
        let own = note(std::process::id());
        let new = Cluster::start_noted(&[], Some(&own));
        std::fs::write(&own, format!("{}\n{}", new.folder.display(), new.port)).unwrap();
        if is_root() {
            chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        new
    })
}

/// Whether there is a Postgres here. Says loudly if there is none: past the harness, which keeps what tests print to
/// itself.
///
/// # Panics
/// If there has to be one.
pub fn is_here() -> bool {
    let is_here = programs().is_some();
    let required = std::env::var_os("PLANWRIGHT_POSTGRES").is_some_and(|value| value == "required");
    assert!(is_here || !required, "PLANWRIGHT_POSTGRES=required, but no initdb is installed");
    if !is_here {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        let why =
            "there is no Postgres; Debian's package `postgresql` has it, and no server of it has to run";
        let _ = writeln!(std::io::stderr().lock(), "\nSKIPPED {name}: {why}");
    }
    is_here
}
