//! Sends requests over plain HTTP, at a fixed rate.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{MissedTickBehavior, interval};

use crate::connection::Connection;

/// Sends requests at a fixed rate, however long responses take, over as many connections as needed. Returns the
/// duration of each request from the time at which it was due.
pub(crate) async fn send_at_rate(
    address: &str,
    rate: u32,
    time: Duration,
    requests: Arc<Vec<Vec<u8>>>,
) -> Vec<Duration> {
    let mut ticks = interval(Duration::from_secs(1) / rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let idle: Arc<Mutex<Vec<Connection>>> = Arc::default();
    let mut sending = Vec::new();
    let count = usize::try_from(time.as_millis() * u128::from(rate) / 1_000).unwrap();
    for number in 0..count {
        let due = ticks.tick().await.into_std();
        let (idle, requests, address) = (Arc::clone(&idle), Arc::clone(&requests), address.to_owned());
        sending.push(tokio::spawn(async move {
            let free = idle.lock().unwrap().pop();
            let mut connection = free.unwrap_or_else(|| Connection::new(&address));
            connection.send(&requests[number % requests.len()]).await;
            idle.lock().unwrap().push(connection);
            due.elapsed()
        }));
    }
    join_all(sending).await.into_iter().map(Result::unwrap).collect()
}
