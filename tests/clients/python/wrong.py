"""What the types refuse: mypy fails here as soon as one of them is let through."""

from generated import Feed, Fanfold, LoginInput, RelationStatus


def wrong(client: Fanfold, feed: Feed) -> None:
    feed.viewer.timeline  # type: ignore[union-attr]  # who asks may be nobody
    if feed.viewer:
        post = feed.viewer.timeline.nodes[0]
        post.platform  # type: ignore[attr-defined]  # the document does not ask for it
        RelationStatus.FRIEND  # type: ignore[attr-defined]  # there are four ways to stand
    LoginInput(username="ada")  # type: ignore[call-arg]  # there is no password
    client.feed()  # type: ignore[call-arg]  # `first` is missing
