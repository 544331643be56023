//! Edits of hot and cold posts.
//!
//! An edit changes a single place, the post's record or else its row in the archive, in one step: the current text
//! joins the earlier versions, and the new one takes its place. The step compares the *edition*, the number of edits so
//! far, with the one that the caller has read. If another edit was faster, the caller reads the post again and repeats
//! the step. The posts to which the post refers stay as they are.
//!
//! A caller may not know that it has made the edit, because a response was lost. It therefore holds on to the edition
//! that it first meant to replace, its *base*: if the base or the edition after it has the requested text, nothing is
//! left to do. An idempotency key binds the base, so that this also holds for a request that is sent again after
//! further edits.

use crate::app::App;
use crate::app::error::{Broken, Error, Faults, Field};
use crate::app::post::own::{OwnPost, missing};
use crate::app::post::read::EarlierVersions;
use crate::app::post::{key_mismatch, too_many};
use crate::app::read::Load as _;
use crate::app::viewer::Viewer;
use crate::model::digest::Digest;
use crate::model::edit::{Edit, Edited};
use crate::model::id::{PostId, UserId};
use crate::model::post::{Content, IdempotencyKey, Post};
use crate::store::draft::{self, Bound, BoundEdit, Claimed};
use crate::store::{Feature, bucket, edit};

/// Maximum number of attempts to edit a post. An attempt fails if the post is edited or archived in the meantime.
const ATTEMPTS: usize = 8;

/// An edit as the author of the post requests it, not yet validated.
#[derive(Clone, Copy, Debug)]
pub struct EditRequest<'a> {
    /// The post to edit.
    pub post: PostId,
    /// New text of the post.
    pub content: &'a str,
    /// Key that identifies the edit.
    pub idempotency_key: Option<&'a str>,
}

impl App {
    /// Changes the text of one of the viewer's posts, and takes one token from the viewer's bucket. A request that does
    /// not change the text makes no new version. Makes three round trips, plus one for this process's first edit; plus
    /// two archive queries if the post is archived.
    pub async fn edit_post(&self, viewer: &Viewer, request: EditRequest<'_>) -> Result<(), Error> {
        let author = viewer.signed_in()?.user;
        let mut faults = Faults::default();
        let content = faults.check(Field::Content, Content::parse(request.content));
        let key = request
            .idempotency_key
            .map(|text| faults.check(Field::IdempotencyKey, IdempotencyKey::parse(text)));
        let (Some(content), None | Some(Some(_))) = (content, &key) else { return Err(faults.into_error()) };
        let key = key.flatten().map(|key| key.digest());

        let mut found = self.find_to_edit(viewer, author, request.post).await?;
        let mut edit = Edit { post: request.post, replaced: found.details.edition, content };
        self.enter(Feature::Conversations).await?;
        edit.replaced = self.begin_edit(author, key, &edit).await?;
        if edit.replaced > found.details.edition {
            // Another call has bound the key to an edition that is later than the one read here.
            found = self.find_to_edit(viewer, author, request.post).await?;
        }
        for _ in 0..ATTEMPTS {
            if self.is_settled(&edit, &found).await? {
                return Ok(());
            }
            edit.replaced = self.rebase(author, key, &edit, &found).await?;
            match self.replace_text(author, &edit).await? {
                Edited::Done => return Ok(()),
                Edited::Deleted => return Err(missing()),
                Edited::Conflict => found = self.find_to_edit(viewer, author, request.post).await?,
            }
        }
        Err(Broken::GaveUp("editing a post that is being edited").into())
    }

    /// Returns a post of this author. Fails if there is no such post.
    async fn find_to_edit(&self, viewer: &Viewer, author: UserId, id: PostId) -> Result<Post, Error> {
        match self.find_own(author, id).await? {
            // A repost has no text.
            OwnPost::Hot(post) | OwnPost::Archived(post) if post.details.references.original.is_some() => {
                Err(missing())
            }
            OwnPost::Hot(post) | OwnPost::Archived(post) => Ok(post),
            OwnPost::Deleted => Err(missing()),
            OwnPost::NotOwn => Err(self.not_own(viewer, id).await?),
        }
    }

    /// Takes a token, and binds the idempotency key, if there is one. Returns the edition that the edit replaces: if
    /// the key has been bound before, the edition of that time, without taking a token. Makes one round trip.
    async fn begin_edit(&self, author: UserId, key: Option<Digest>, edit: &Edit) -> Result<u32, Error> {
        if let Some(key) = key {
            return self.bind_edit(author, key, None, edit).await;
        }
        let bucket = self.keys().publishes_of(author);
        let take = bucket::take(&bucket, self.publish_limit(), 1, self.now());
        match take.send("edit: token", self.store()).await?.wait {
            Some(wait) => Err(too_many(wait)),
            None => Ok(edit.replaced),
        }
    }

    /// Binds an idempotency key to an edit, if the key is still unbound (`known` is `None`) or still bound to `known`.
    /// Returns the edition that the edit replaces according to the key. Makes one round trip.
    async fn bind_edit(
        &self,
        author: UserId,
        key: Digest,
        known: Option<BoundEdit>,
        edit: &Edit,
    ) -> Result<u32, Error> {
        let new = BoundEdit { digest: edit.digest(), replaced: edit.replaced };
        let limit = (self.publish_limit(), self.now());
        let claim = draft::claim(self.keys(), author, key, known.map(Bound::Edit), Bound::Edit(new), limit);
        match claim.send("edit: claim", self.store()).await? {
            Claimed::Held(Bound::Edit(held)) if held.digest == new.digest => Ok(held.replaced),
            Claimed::Held(_) => Err(key_mismatch()),
            Claimed::Throttled(wait) => Err(too_many(wait)),
        }
    }

    /// Returns true if the edit has been made, or changes nothing. Makes no round trip if the post has still the
    /// edition to be replaced; otherwise one, plus a query if the post is archived.
    async fn is_settled(&self, edit: &Edit, found: &Post) -> Result<bool, Error> {
        let current = found.details.edition;
        if edit.replaced >= current {
            return Ok(edit.is_settled(current, |_| Some(&found.content)));
        }
        let versions = self.load(EarlierVersions { post: found.id, before: current }).await?;
        Ok(edit.is_settled(current, |edition| {
            let earlier = versions.iter().find(|version| version.edition == edition);
            let is_current = edition == current;
            if is_current { Some(&found.content) } else { earlier.map(|version| version.content.as_str()) }
        }))
    }

    /// Returns the edition to replace after another edit was faster, and binds the idempotency key to it. Makes no
    /// round trip if none was, or without a key; otherwise one.
    async fn rebase(
        &self,
        author: UserId,
        key: Option<Digest>,
        edit: &Edit,
        found: &Post,
    ) -> Result<u32, Error> {
        let current = found.details.edition;
        match key.filter(|_| edit.replaced != current) {
            Some(key) => {
                let known = BoundEdit { digest: edit.digest(), replaced: edit.replaced };
                let rebased = Edit { replaced: current, ..edit.clone() };
                self.bind_edit(author, key, Some(known), &rebased).await
            }
            None => Ok(current),
        }
    }

    /// Replaces the text of a post, if it still has the edition to be replaced. Makes one round trip, plus a
    /// query if the post is archived.
    async fn replace_text(&self, author: UserId, edit: &Edit) -> Result<Edited, Error> {
        let replace = edit::edit(self.keys(), author, edit, self.now());
        match replace.send("edit: text", self.store()).await? {
            Some(edited) => Ok(edited),
            None => Ok(self.archive().await?.edit(author, edit, self.now()).await?),
        }
    }
}
