//! `fanfold check`: of an application, of its archive, and of a cluster.

use fanfold::app::App;
use fanfold::app::check::{Findings, USERS_AT_A_TIME};
use fanfold::app::error::Error;
use tempfile::TempDir;

use crate::harness::cluster::Cluster;
use crate::harness::server::command;

/// Checks everything.
pub(crate) async fn check(app: &App, repair: bool) -> Findings {
    let mut findings = app.check_intents(repair).await.unwrap();
    for shard in 0..app.name_shards() {
        findings += app.check_names(shard, repair).await.unwrap();
        findings += app.check_subjects(shard, repair).await.unwrap();
    }
    let last = app.last_user_id().await.unwrap();
    for first in (1..=last).step_by(usize::try_from(USERS_AT_A_TIME).unwrap()) {
        findings += app.check_users(first, repair).await.unwrap();
    }
    if app.transit().await.unwrap().moved > 0 {
        findings += check_archive(app, repair).await.unwrap();
    }
    findings
}

/// Checks the archived posts.
pub(crate) async fn check_archive(app: &App, repair: bool) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let (mut posts, mut lists) = (Some(0), Some(0));
    while let Some(after) = posts {
        let found;
        (found, posts) = app.check_archived_posts(after, repair).await?;
        findings += found;
    }
    while let Some(after) = lists {
        let found;
        (found, lists) = app.check_archived_lists(after, repair).await?;
        findings += found;
    }
    Ok(findings)
}

/// Asserts that `fanfold check` finds no fault in a cluster.
pub(crate) fn check_cluster(cluster: &Cluster, directory: &TempDir) {
    let arguments =
        ["check", "--redis-url", &cluster.url(), "--data-dir", directory.path().to_str().unwrap()];
    let output = command(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
