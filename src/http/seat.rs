//! Distributes seats among clients. Every open WebSocket or event stream takes a seat, and so does every download of an
//! export, of a number of their own.
//!
//! A WebSocket takes a seat before its client is authenticated. Until then the client is a guest; afterwards the seat
//! counts towards its user, or as anonymous. Guests have a small share of the seats. When all seats of this share are
//! taken, a new guest displaces the guest that has waited longest. Anonymous clients have nothing to subscribe to, so
//! half of all seats are reserved for users.
//!
//! The limits apply per process.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::config::HttpConfig;
use crate::graphql::error::{Code, RequestError};
use crate::http::response::Failure;
use crate::model::address::Address;
use crate::model::id::UserId;

/// Reciprocal of the guests' share of all seats. Guests always have at least `FEWEST_GUESTS` seats.
const GUESTS: usize = 8;
const FEWEST_GUESTS: usize = 16;
/// Time after which a rejected client may retry.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// All seats of a process.
pub(super) struct Seats {
    most: Most,
    taken: Mutex<Taken>,
}

/// The maximum numbers of seats: in total, and by holder.
#[derive(Clone, Copy)]
struct Most {
    all: usize,
    anonymous: usize,
    guests: usize,
    of_address: usize,
    of_user: usize,
}

/// The numbers of seats taken: in total, and by holder.
#[derive(Default)]
struct Taken {
    all: usize,
    anonymous: usize,
    of_address: HashMap<Address, usize>,
    of_user: HashMap<UserId, usize>,
    /// Clients that are not yet authenticated, by arrival number. Dropping a sender makes its client leave.
    guests: BTreeMap<u64, oneshot::Sender<()>>,
    /// Number of guests so far, from which the next guest gets its number.
    arrivals: u64,
}

/// A seat that a client holds. Dropping it frees the seat.
pub(super) struct Seat {
    seats: Arc<Seats>,
    address: Option<Address>,
    holder: Holder,
}

/// The holder of a seat.
#[derive(Clone, Copy)]
enum Holder {
    Guest(u64),
    Anonymous,
    User(UserId),
}

/// The reason why a client gets no seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// All seats are taken.
    All,
    /// All seats for anonymous clients are taken.
    Anonymous,
    /// The address holds this many seats, the maximum per address.
    Address(usize),
    /// The user holds this many seats, the maximum per user.
    User(usize),
}

impl Seats {
    pub(super) fn new(config: &HttpConfig) -> Arc<Self> {
        let all = config.http_sockets as usize;
        let most = Most {
            all,
            anonymous: all.div_ceil(2),
            guests: (all / GUESTS).max(FEWEST_GUESTS),
            of_address: config.clients.http_sockets_per_address as usize,
            of_user: config.clients.http_sockets_per_user as usize,
        };
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// Returns the seats for downloads of exports, which users take.
    pub(super) fn of_downloads() -> Arc<Self> {
        let most = Most { all: 32, anonymous: 0, guests: 0, of_address: 8, of_user: 2 };
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// Returns the number of seats taken, guests included.
    pub(super) fn taken(&self) -> usize {
        self.lock().all
    }

    /// Takes a seat for a client that is not yet authenticated. The client must leave when the receiver fails, unless
    /// the seat has been assigned with [`Seat::settle`].
    pub(super) fn enter(
        self: &Arc<Self>,
        address: Option<Address>,
    ) -> Result<(Seat, oneshot::Receiver<()>), Full> {
        let mut taken = self.lock();
        taken.reserve(self.most, address)?;
        if taken.guests.len() >= self.most.guests {
            taken.guests.pop_first();
        }
        let (stay, leave) = oneshot::channel();
        let number = taken.arrivals;
        taken.arrivals += 1;
        taken.guests.insert(number, stay);
        drop(taken);
        Ok((Seat { seats: Arc::clone(self), address, holder: Holder::Guest(number) }, leave))
    }

    /// Takes a seat for a signed-in user or an anonymous client.
    pub(super) fn enter_as(
        self: &Arc<Self>,
        address: Option<Address>,
        user: Option<UserId>,
    ) -> Result<Seat, Full> {
        let mut taken = self.lock();
        taken.reserve(self.most, address)?;
        let holder = taken.settle(self.most, user);
        if holder.is_err() {
            taken.release(address);
        }
        drop(taken);
        Ok(Seat { seats: Arc::clone(self), address, holder: holder? })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }
}

impl Taken {
    fn reserve(&mut self, most: Most, address: Option<Address>) -> Result<(), Full> {
        if self.all >= most.all {
            return Err(Full::All);
        }
        if let Some(address) = address {
            add(&mut self.of_address, address, most.of_address).map_err(Full::Address)?;
        }
        self.all += 1;
        Ok(())
    }

    fn release(&mut self, address: Option<Address>) {
        self.all -= 1;
        if let Some(address) = address {
            subtract(&mut self.of_address, &address);
        }
    }

    fn settle(&mut self, most: Most, user: Option<UserId>) -> Result<Holder, Full> {
        let Some(user) = user else {
            if self.anonymous >= most.anonymous {
                return Err(Full::Anonymous);
            }
            self.anonymous += 1;
            return Ok(Holder::Anonymous);
        };
        add(&mut self.of_user, user, most.of_user).map_err(Full::User)?;
        Ok(Holder::User(user))
    }
}

/// Increments a count. Fails with `most` if the count has already reached `most`.
fn add<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: K, most: usize) -> Result<(), usize> {
    let count = counts.entry(key).or_default();
    if *count >= most {
        return Err(most);
    }
    *count += 1;
    Ok(())
}

fn subtract<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl Seat {
    /// Assigns the seat to a signed-in user or an anonymous client.
    pub(super) fn settle(&mut self, user: Option<UserId>) -> Result<(), Full> {
        let mut taken = self.seats.lock();
        let settled = taken.settle(self.seats.most, user)?;
        if let Holder::Guest(number) = std::mem::replace(&mut self.holder, settled) {
            taken.guests.remove(&number);
        }
        Ok(())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        match self.holder {
            Holder::Guest(number) => drop(taken.guests.remove(&number)),
            Holder::Anonymous => taken.anonymous -= 1,
            Holder::User(user) => subtract(&mut taken.of_user, &user),
        }
        taken.release(self.address);
    }
}

impl Full {
    /// Returns the reason as a sentence for clients, without the full stop.
    pub(super) fn reason(self) -> String {
        match self {
            Self::All => "Too many sockets and streams".to_owned(),
            Self::Anonymous => "Only signed-in users can connect now".to_owned(),
            Self::Address(most) => format!("This address already has {most} sockets and streams"),
            Self::User(most) => format!("This user already has {most} sockets and streams"),
        }
    }

    pub(super) fn into_failure(self) -> Failure {
        let (status, code) = match self {
            Self::All | Self::Anonymous => (StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable),
            Self::Address(_) | Self::User(_) => (StatusCode::TOO_MANY_REQUESTS, Code::RateLimited),
        };
        let message = format!("{}. Try again later.", self.reason());
        Failure::of(RequestError::retry_after(code, message, RETRY_AFTER)).with_status(status)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn seats(all: usize, of_address: usize, of_user: usize) -> Arc<Seats> {
        let most = Most { all, anonymous: all.div_ceil(2), guests: 3, of_address, of_user };
        Arc::new(Seats { most, taken: Mutex::default() })
    }

    #[test]
    fn seats_are_limited_per_user_and_per_address() {
        let seats = seats(100, 4, 2);
        let [one, other] = [1, 2].map(|last| Some(IpAddr::from([192, 0, 2, last]).into()));
        let user = |number| UserId::new(number);
        let held = [1, 1, 2].map(|number| seats.enter_as(one, user(number)).ok().unwrap());
        let full = |found: Result<Seat, Full>| found.err();
        assert_eq!(full(seats.enter_as(other, user(1))), Some(Full::User(2)));
        let (mut guest, _leave) = seats.enter(one).ok().unwrap();
        assert_eq!(seats.enter(one).err(), Some(Full::Address(4)));
        assert_eq!(guest.settle(user(1)), Err(Full::User(2)));
        assert_eq!(guest.settle(user(2)), Ok(()));
        assert_eq!(seats.taken(), 4);
        drop((held, guest));
        let taken = seats.lock();
        assert!(taken.of_address.is_empty() && taken.of_user.is_empty() && taken.guests.is_empty());
        assert_eq!((taken.all, taken.anonymous), (0, 0));
    }

    #[test]
    fn anonymous_clients_leave_half_to_users_and_a_guest_makes_room_for_another() {
        let seats = seats(10, 100, 100);
        let anonymous: Vec<_> = (0..5).map(|_| seats.enter_as(None, None).ok().unwrap()).collect();
        assert_eq!(seats.enter_as(None, None).err(), Some(Full::Anonymous));
        let mut guests: Vec<_> = (0..4).map(|_| seats.enter(None).ok().unwrap()).collect();
        let left: Vec<bool> = guests
            .iter_mut()
            .map(|(_, leave)| {
                leave.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed)
            })
            .collect();
        assert_eq!(left, [true, false, false, false]);
        assert_eq!(guests[1].0.settle(None), Err(Full::Anonymous));
        assert_eq!(guests[1].0.settle(UserId::new(7)), Ok(()));
        let last = seats.enter(None).ok().unwrap();
        assert_eq!(seats.enter(None).err(), Some(Full::All));
        drop((anonymous, guests, last));
        assert_eq!(seats.taken(), 0);
    }
}
