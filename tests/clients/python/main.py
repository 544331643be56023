"""Signs in and reads a feed:

python main.py <url> <username> <password>
"""

import sys

from generated import Fanfold, FeedViewerTimelineNodes, LoginInput, UserErrorCode


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


def print_post(post: FeedViewerTimelineNodes) -> None:
    """Prints the author, their relation to the viewer, the parent's author and the content, with the replies below."""
    author, relation = post.author, post.author.relation
    if relation is None:
        label = "the viewer"
    elif relation.following_since is not None and relation.following_since <= post.created_at:
        label = f"{relation.status.value}, followed when this was written"
    else:
        label = relation.status.value
    mutuals = " ".join(user.username for user in author.mutuals.nodes) if author.mutuals else "not loaded"
    parent = f" to {post.in_reply_to.author.username}" if post.in_reply_to else ""
    print(f"{author.username} ({label}; mutuals: {mutuals}){parent}: {post.content}")
    for reply in post.replies.nodes if post.replies else []:
        print(f"  {reply.author.username}: {reply.content}")


def main(url: str, username: str, password: str) -> None:
    sign_in(url, username, f"not {password}")
    token = sign_in(url, username, password)
    with Fanfold(url, headers={"Authorization": f"Bearer {token}"}) as client:
        viewer = client.feed(first=10).viewer
    if viewer and viewer.timeline:
        for post in viewer.timeline.nodes:
            print_post(post)


if __name__ == "__main__":
    main(*sys.argv[1:])
