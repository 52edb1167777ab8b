//! A service as a process of its own, and what the system says of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Service {
    process: Child,
    pub address: String,
}

impl Service {
    pub fn start(store: &Path, args: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_planwright"));
        program.args(["serve", "--quiet", "--offline", "--listen", "127.0.0.1:0", "--tools", "calc"]);
        program.args(["--max-replans", "1", "--durability", "full", "--store"]).arg(store).args(args);
        let mut process = program.stdout(Stdio::piped()).spawn().expect("the program is built");
        let mut address = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut address).expect("it says where it listens");
        Service { process, address: address.trim().trim_start_matches("http://").to_owned() }
    }

    pub fn cpu(&self) -> Duration {
        cpu_of(self.process.id())
    }

    /// Bytes in memory.
    pub fn memory(&self) -> u64 {
        1024 * self.status("VmRSS:")
    }

    /// Threads of execution.
    pub fn threads(&self) -> u64 {
        self.status("Threads:")
    }

    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the system says it");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The CPU time of a process. The system counts it in hundredths of a second.
pub fn cpu_of(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let behind_name = stat.rsplit_once(')').expect("a name in brackets").1;
    let ticks = behind_name.split_whitespace().skip(11).take(2);
    Duration::from_millis(ticks.map(|ticks| 10 * ticks.parse::<u64>().expect("a number")).sum())
}
