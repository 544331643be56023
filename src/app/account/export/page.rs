//! Reads the records of an export, a page at a time.
//!
//! The records are in an order that does not change while they are read: sections, and in each section list order. So a
//! download continues after the last record that the client has, and contains every record that exists throughout once.
//! Records that are added in the meantime may be missing.
//!
//! Lists contain the users whom the owner sees in them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::app::App;
use crate::app::account::export::position::{ExportPosition, OlderLike, Records, Section, SectionPosition};
use crate::app::archive::{Listed, StoredPost};
use crate::app::error::{Broken, Error};
use crate::app::read::{Load as _, Shared};
use crate::app::recovery::PendingRecoveryOf;
use crate::app::region::read::Regions;
use crate::app::relation::read::UserList;
use crate::app::session::Sessions;
use crate::app::viewer::{SignedIn, Viewer};
use crate::app::visibility::list::VisiblePage;
use crate::app::visibility::{Access, UserSelection, Visible, VisibleUser};
use crate::model::account::Account;
use crate::model::clock::Period;
use crate::model::edit::EarlierVersion;
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, InListOrder as _, Position, Window};
use crate::model::post::Post;
use crate::model::recovery::Recovery;
use crate::model::region::Residence;
use crate::model::relation::Mute;
use crate::model::session::{Session, SessionId};
use crate::model::user::{User, UserFields};
use crate::store::batch::Batch;
use crate::store::ordered;
use crate::store::{account, user};

/// Maximum number of records on a page.
pub const PAGE: usize = 100;

/// A record of an export.
#[derive(Clone, Debug)]
pub enum Record {
    /// The account itself.
    Account(Box<OwnAccount>),
    /// A session.
    Session(Session),
    /// An entry of a list of users other than mutes.
    User {
        /// The list.
        section: Section,
        /// The listed user, and the time of the entry.
        entry: Position,
        /// Name of the listed user.
        username: String,
    },
    /// A mute.
    Mute {
        /// Id of the muted user.
        user: UserId,
        /// Name of the muted user.
        username: String,
        /// The mute.
        mute: Mute,
    },
    /// A post, and its earlier versions, newest first.
    Post(Arc<Post>, Arc<[EarlierVersion]>),
    /// A reaction.
    Reaction {
        /// The list.
        section: Section,
        /// The post, and the time of the reaction.
        entry: Position<PostId>,
    },
    /// A like whose time is not known.
    OlderLike {
        /// The post.
        post: PostId,
        /// The position after the like.
        position: OlderLike,
    },
}

impl Record {
    /// Returns the position after the record.
    #[must_use]
    pub fn position(&self) -> ExportPosition {
        match self {
            Self::Account(_) => ExportPosition::begin(Section::Sessions),
            Self::Session(session) => {
                ExportPosition::after(Section::Sessions, SectionPosition::Session(session_position(session)))
            }
            Self::User { section, entry, .. } => {
                ExportPosition::after(*section, SectionPosition::User(*entry))
            }
            Self::Mute { user, mute, .. } => {
                let entry = Position { at: mute.since, id: *user };
                ExportPosition::after(Section::Muted, SectionPosition::User(entry))
            }
            Self::Post(post, _) => ExportPosition::after(Section::Posts, SectionPosition::Post(post.id)),
            Self::Reaction { section, entry } => {
                ExportPosition::after(*section, SectionPosition::Reaction(*entry))
            }
            Self::OlderLike { position, .. } => {
                ExportPosition::after(Section::OlderLikes, SectionPosition::OlderLike(*position))
            }
        }
    }
}

fn session_position(session: &Session) -> Position<SessionId> {
    Position { at: session.created_at, id: session.id }
}

/// An account and its profile, as its owner has entered it.
#[derive(Clone, Debug)]
pub struct OwnAccount {
    /// State of the account.
    pub account: Account,
    /// Profile, with all fields.
    pub profile: User,
    /// The pending recovery; `None` if there is none.
    pub recovery: Option<OwnRecovery>,
}

/// A pending recovery of an account, as its owner sees it.
#[derive(Clone, Debug)]
pub struct OwnRecovery {
    /// The code's issuer and times.
    pub pending: Recovery,
    /// The moderator who has issued the code; `None` for the operator, and if the owner cannot see the moderator.
    pub issuer: Option<VisibleUser>,
}

/// A page of an export.
#[derive(Clone, Debug)]
pub struct ExportPage {
    /// Records, in order. There may be none although others follow.
    pub records: Vec<Record>,
    /// Position of the next page; `None` if the export is complete.
    pub next: Option<ExportPosition>,
}

impl App {
    /// Returns the page at a position of the viewer's export. Makes at most four round trips, and further ones to
    /// replace list entries that the viewer may not see.
    pub async fn export_page(&self, viewer: &Viewer, from: ExportPosition) -> Result<ExportPage, Error> {
        let owner = viewer.signed_in()?;
        let ExportPosition { section, .. } = from;
        let visible = Visible { app: self, load: self, viewer };
        let window = Window { direction: Direction::Forward, size: PAGE, from: from.user() };
        let (records, rest) = match section.records().1 {
            Records::Account => (vec![self.own_account(viewer, owner.user).await?], None),
            Records::Sessions => (self.sessions_after(owner.user, from).await?, None),
            Records::Posts => self.posts_after(viewer, owner.user, from.post()).await?,
            Records::Reactions(kind) => {
                let window = Window { direction: Direction::Forward, size: PAGE, from: from.reaction() };
                let page = visible.unfiltered_reaction_page(kind, window).await?;
                let last = page.entries.last().copied().filter(|_| page.has_next);
                let records = page.entries.iter().map(|&entry| Record::Reaction { section, entry }).collect();
                (records, last.map(SectionPosition::Reaction))
            }
            Records::OlderLikes => self.older_likes_after(owner.user, from.older_like()).await?,
            Records::Listed(kind) => {
                let list = UserList { owner: owner.user, kind };
                let listed = visible.user_page(list, window).await?.positions();
                self.users_of(&visible, owner, section, listed).await?
            }
            Records::Own(list) => {
                self.users_of(&visible, owner, section, visible.own_page(list, window).await?).await?
            }
        };
        let next = match rest {
            Some(last) => Some(ExportPosition::after(section, last)),
            None => section.next().map(ExportPosition::begin),
        };
        Ok(ExportPage { records, next })
    }

    async fn own_account(&self, viewer: &Viewer, owner: UserId) -> Result<Record, Error> {
        let mut batch = Batch::new("export: account");
        let account = batch.push(account::read(self.keys(), owner));
        let active = batch.push(user::read(self.keys(), owner, UserFields::RECORD));
        let inactive = batch.push(user::read_inactive(self.keys(), owner, UserFields::RECORD));
        let mut replies = batch.send(self.store()).await?;
        let account = replies.take(account)?.ok_or(Broken::NoRecord(owner))?;
        let profile = replies.take(active)?.or(replies.take(inactive)?).ok_or(Broken::NoRecord(owner))?;
        let region = self.load(Regions(Shared(Arc::new([owner])))).await?[0];
        let profile = User { residence: Some(Residence(region)), ..profile };
        let recovery = self.own_recovery(viewer, owner).await?;
        Ok(Record::Account(Box::new(OwnAccount { account, profile, recovery })))
    }

    /// Returns the owner's pending recovery; `None` if there is none.
    async fn own_recovery(&self, viewer: &Viewer, owner: UserId) -> Result<Option<OwnRecovery>, Error> {
        let Some(pending) = self.load(PendingRecoveryOf(owner)).await? else { return Ok(None) };
        let visible = Visible { app: self, load: self, viewer };
        let issuer = pending.issuer.user().into_iter().collect();
        let issuer = visible.users(issuer, UserSelection::NONE, Access::Direct).await?;
        Ok(Some(OwnRecovery { pending, issuer: issuer.into_iter().flatten().next() }))
    }

    /// Returns all sessions after a position, the oldest first: the order of last use changes with each use.
    async fn sessions_after(&self, owner: UserId, from: ExportPosition) -> Result<Vec<Record>, Error> {
        let mut sessions = self.load(Sessions(owner)).await?.to_vec();
        if let Some(SectionPosition::Session(after)) = from.after {
            sessions.retain(|session| session_position(session).in_list_order(&after).is_lt());
        }
        sessions.sort_by(|one, other| session_position(other).in_list_order(&session_position(one)));
        Ok(sessions.into_iter().map(Record::Session).collect())
    }

    /// Returns the records of a page of a list of users, and the place of its last entry if there are more.
    async fn users_of(
        &self,
        visible: &Visible<'_, App>,
        owner: &SignedIn,
        section: Section,
        VisiblePage { page, ended }: VisiblePage<Position>,
    ) -> Result<(Vec<Record>, Option<SectionPosition>), Error> {
        let users = page.entries.iter().map(|entry| entry.id).collect();
        let users = visible.users(users, UserSelection::NONE, Access::Direct).await?;
        let exclusions = self.exclusions(owner).await?;
        let now = self.now();
        let record = |(entry, user): (&Position, Option<VisibleUser>)| {
            let (entry, username) = (*entry, user?.record.username.clone());
            Some(match section {
                Section::Muted => {
                    Record::Mute { user: entry.id, username, mute: exclusions.mute_of(entry.id, now)? }
                }
                _ => Record::User { section, entry, username },
            })
        };
        let records = page.entries.iter().zip(users).filter_map(record).collect();
        let last = ended.or(page.entries.last().copied()).filter(|_| page.has_next);
        Ok((records, last.map(SectionPosition::User)))
    }

    /// Returns a page of posts, and the place of the last one if there are more. Owners see all of their posts.
    async fn posts_after(
        &self,
        viewer: &Viewer,
        author: UserId,
        from: Option<PostId>,
    ) -> Result<(Vec<Record>, Option<SectionPosition>), Error> {
        let window = Window { direction: Direction::Forward, size: PAGE, from };
        let visible = Visible { app: self, load: self, viewer };
        let page = visible.unfiltered_post_page(author, window, Period::ALL).await?;
        let last = page.entries.last().filter(|_| page.has_next).map(Listed::id);
        let posts = visible.post_records(Arc::clone(&page.entries)).await?;
        let posts: Vec<&Arc<Post>> = posts.iter().flatten().map(StoredPost::unchecked).collect();
        let versions = visible.all_earlier_versions(&posts).await?;
        let record = |(post, versions): (&Arc<Post>, _)| Record::Post(Arc::clone(post), versions);
        let records = posts.into_iter().zip(versions).map(record).collect();
        Ok((records, last.map(SectionPosition::Post)))
    }
    /// Returns a page of the likes whose times are not known, and the position after it if there may be more.
    async fn older_likes_after(
        &self,
        owner: UserId,
        OlderLike { shard, after }: OlderLike,
    ) -> Result<(Vec<Record>, Option<SectionPosition>), Error> {
        let set = self.keys().liked(owner);
        let mut batch = Batch::new("export: older likes");
        let (stored, elements) = (batch.push(ordered::stored(&set)), batch.push(ordered::shard(&set, shard)));
        let mut replies = batch.send(self.store()).await?;
        let (stored, elements) = (replies.take(stored)?, replies.take(elements)?);
        let newest: HashSet<PostId> = stored.entries().iter().map(|entry| entry.id).collect();
        let is_older = |post: &PostId| Some(*post) > after && !newest.contains(post);
        let mut older: Vec<PostId> =
            elements.iter().copied().filter_map(PostId::new).filter(is_older).collect();
        older.sort_unstable();
        let next = match older.get(PAGE - 1) {
            Some(last) if older.len() > PAGE => Some(OlderLike { shard, after: Some(*last) }),
            _ => shard.next(&elements).map(|shard| OlderLike { shard, after: None }),
        };
        older.truncate(PAGE);
        let record = |post| Record::OlderLike { post, position: OlderLike { shard, after: Some(post) } };
        let records = older.into_iter().map(record).collect();
        Ok((records, next.map(SectionPosition::OlderLike)))
    }
}
