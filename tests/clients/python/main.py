"""Signs in and reads a feed:

python main.py <url> <username> <password>
"""

import sys

from generated import Fanfold, FeedViewerTimelineEdges, LoginInput, UserErrorCode


def sign_in(url: str, username: str, password: str) -> str | None:
    """Returns a session token; prints the errors on failure."""
    with Fanfold(url) as client:
        login = client.sign_in(LoginInput(username=username, password=password, label="ariadne")).login
    for error in login.user_errors if login else []:
        if error.code is UserErrorCode.WRONG_CREDENTIALS:
            print("These are no name and password.")
        else:
            print(error.message)
    return login.token if login else None


def marks_of(entry: FeedViewerTimelineEdges) -> str:
    """Describes the reposts and edits of a post; empty if there are none."""
    post = entry.node
    marks = [f"reposted by {user.username}" for user in entry.reposted_by]
    if post.repost_count > 0:
        marks.append(f"reposts: {post.repost_count}")
    if post.viewer_has_reposted:
        marks.append("reposted by the viewer")
    if post.edited_at is not None:
        marks.append("edited")
    return f" [{'; '.join(marks)}]" if marks else ""


def print_entry(entry: FeedViewerTimelineEdges) -> None:
    """Prints a post with its author, their relation to the viewer, reposts and edits, and the replies below."""
    post = entry.node
    author, relation = post.author, post.author.relation
    if relation is None:
        label = "the viewer"
    elif relation.following_since is not None and relation.following_since <= post.created_at:
        label = f"{relation.status.value}, followed when this was written"
    else:
        label = relation.status.value
    mutuals = " ".join(user.username for user in author.mutuals.nodes) if author.mutuals else "not loaded"
    parent = f" to {post.in_reply_to.author.username}" if post.in_reply_to else ""
    print(f"{author.username} ({label}; mutuals: {mutuals}){parent}{marks_of(entry)}: {post.content}")
    for reply in post.replies.nodes if post.replies else []:
        print(f"  {reply.author.username}: {reply.content}")


def main(url: str, username: str, password: str) -> None:
    sign_in(url, username, f"not {password}")
    token = sign_in(url, username, password)
    with Fanfold(url, headers={"Authorization": f"Bearer {token}"}) as client:
        viewer = client.feed(first=10).viewer
    if viewer and viewer.timeline:
        for entry in viewer.timeline.edges:
            print_entry(entry)


if __name__ == "__main__":
    main(*sys.argv[1:])
