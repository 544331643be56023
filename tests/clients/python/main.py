"""Signs in and reads a feed:

python main.py <url> <username> <password>
"""

import sys

from generated import Fanfold, FeedViewerTimelineNodes, LoginInput, UserErrorCode


def sign_in(url: str, username: str, password: str) -> str | None:
    """The token of whoever has this name and password; what is refused is told."""
    with Fanfold(url) as client:
        login = client.sign_in(LoginInput(username=username, password=password, label="ariadne")).login
    for error in login.user_errors if login else []:
        if error.code is UserErrorCode.WRONG_CREDENTIALS:
            print("These are no name and password.")
        else:
            print(error.message)
    return login.token if login else None


def tell(post: FeedViewerTimelineNodes) -> None:
    """Prints who wrote it, since when it is followed, and what it says."""
    author, relation = post.author, post.author.relation
    if relation is None:
        standing = "the viewer"
    elif relation.following_since is not None and relation.following_since <= post.created_at:
        standing = f"{relation.status.value}, followed when this was written"
    else:
        standing = relation.status.value
    mutuals = " ".join(user.username for user in author.mutuals.nodes)
    print(f"{author.username} ({standing}; mutuals: {mutuals}): {post.content}")


def main(url: str, username: str, password: str) -> None:
    sign_in(url, username, f"not {password}")
    token = sign_in(url, username, password)
    with Fanfold(url, headers={"Authorization": f"Bearer {token}"}) as client:
        viewer = client.feed(first=10).viewer
    if viewer:
        for post in viewer.timeline.nodes:
            tell(post)


if __name__ == "__main__":
    main(*sys.argv[1:])
