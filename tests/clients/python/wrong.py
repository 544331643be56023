"""Type errors: mypy fails here if it accepts any of them."""

from generated import Feed, Fanfold, LoginInput, RelationStatus


def wrong(client: Fanfold, feed: Feed) -> None:
    feed.viewer.timeline  # type: ignore[union-attr]  # null for an anonymous request
    if feed.viewer:
        feed.viewer.timeline.edges  # type: ignore[union-attr]  # null if it could not be loaded
    if feed.viewer and feed.viewer.timeline:
        post = feed.viewer.timeline.edges[0].node
        post.platform  # type: ignore[attr-defined]  # the document does not select it
        RelationStatus.FRIEND  # type: ignore[attr-defined]  # not one of the four relations
    LoginInput(username="ada")  # type: ignore[call-arg]  # `password` is missing
    client.feed()  # type: ignore[call-arg]  # `first` is missing
