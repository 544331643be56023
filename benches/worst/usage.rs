//! Measures the usage of a request from outside: by the processes' CPU clocks, Redis's counters, and peak resident
//! memory.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// The usage of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) redis_micros: u64,
    pub(crate) commands: u64,
    pub(crate) server_micros: u64,
    pub(crate) response_bytes: u64,
    pub(crate) resident_bytes: u64,
}

impl Usage {
    const NAMES: [&str; 5] =
        ["µs of Redis", "commands", "µs of the server", "bytes of the response", "bytes more resident"];

    fn amounts(&self) -> [u64; 5] {
        [self.redis_micros, self.commands, self.server_micros, self.response_bytes, self.resident_bytes]
    }

    /// Returns the name of the first exceeded bound; `None` if no bound is exceeded.
    pub(crate) fn beyond(&self, bounds: &Self) -> Option<&'static str> {
        let mut pairs = self.amounts().into_iter().zip(bounds.amounts()).zip(Self::NAMES);
        pairs.find_map(|((amount, bound), name)| (amount > bound).then_some(name))
    }
}

/// The maximum usage of each resource, with the document that caused it.
#[derive(Default)]
pub(crate) struct Worst {
    most: [(u64, String); 5],
    sums: [u64; 5],
    documents: u64,
}

impl Worst {
    pub(crate) fn note(&mut self, usage: &Usage, document: &crate::document::Document) {
        self.documents += 1;
        for ((most, sum), amount) in self.most.iter_mut().zip(&mut self.sums).zip(usage.amounts()) {
            *sum += amount;
            if amount > most.0 {
                *most = (amount, document.text.clone());
            }
        }
    }

    pub(crate) fn print(&self, cases: u32) {
        println!(
            "{} documents measured of {cases}; of each resource the mean, the most, and where",
            self.documents
        );
        for (((most, text), sum), name) in self.most.iter().zip(&self.sums).zip(Usage::NAMES) {
            let shown: String = text.chars().take(300).collect();
            println!("{name:<22} {:>10} {most:>10}  {shown}", sum / self.documents.max(1));
        }
    }
}

/// The clocks and counters before a request.
pub(crate) struct Before {
    redis: Counters,
    server_nanos: u64,
    resident: u64,
}

/// Redis's counters.
struct Counters {
    /// CPU time of the main thread, in microseconds.
    micros: u64,
    /// Number of commands, including those in scripts.
    commands: u64,
}

impl Before {
    pub(crate) fn note(redis: &mut redis::Connection) -> Self {
        let redis = Counters::read(redis);
        // Resets the peak of resident memory.
        drop(fs::write("/proc/self/clear_refs", "5"));
        Self { redis, resident: memory("VmRSS"), server_nanos: server_nanos() }
    }

    /// Returns the usage since then.
    pub(crate) fn usage(self, redis: &mut redis::Connection, response_bytes: u64) -> Usage {
        let server_micros = (server_nanos() - self.server_nanos) / 1_000;
        let resident_bytes = memory("VmHWM").saturating_sub(self.resident);
        let now = Counters::read(redis);
        Usage {
            redis_micros: now.micros - self.redis.micros,
            commands: now.commands - self.redis.commands,
            server_micros,
            response_bytes,
            resident_bytes,
        }
    }
}

impl Counters {
    fn read(connection: &mut redis::Connection) -> Self {
        let info: String = redis::cmd("INFO").arg("commandstats").query(connection).unwrap();
        let is_counted = |line: &&str| line.starts_with("cmdstat_") && !line.starts_with("cmdstat_info");
        let calls = |line: &str| {
            line.split([':', ',']).find_map(|part| part.strip_prefix("calls=")?.parse::<u64>().ok())
        };
        let commands = info.lines().filter(is_counted).filter_map(calls).sum();
        let info: redis::InfoDict = redis::cmd("INFO").arg("cpu").query(connection).unwrap();
        let seconds = |name: &str| info.get::<f64>(name).unwrap_or_default();
        let spent = seconds("used_cpu_sys_main_thread") + seconds("used_cpu_user_main_thread");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number")]
        let micros = (spent * 1e6) as u64;
        Self { micros, commands }
    }
}

fn server_nanos() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap()
}

/// Returns a memory statistic of this process in bytes; 0 if the system does not provide it.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let kilobytes = line.trim_matches([':', ' ', '\t']).trim_end_matches(" kB").trim().parse::<u64>();
    kilobytes.unwrap_or_default() * 1_024
}
