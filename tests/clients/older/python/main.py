"""Shows the relation to a user, and the events of the timeline after a cursor until a post is added:

python main.py <url> <token> <username> <cursor>
"""

import asyncio
import sys

from generated import (
    Fanfold,
    RelationStatus,
    TimelineTimelinePostAdded,
    TimelineTimelinePostRemoved,
    TimelineTimelineTimelineEvent,
)

Event = TimelineTimelinePostAdded | TimelineTimelinePostRemoved | TimelineTimelineTimelineEvent


def label_of(status: RelationStatus) -> str:
    return "a relation unknown to this client" if status is RelationStatus.UNKNOWN else status.value


def describe(event: Event) -> str:
    if isinstance(event, TimelineTimelinePostAdded):
        return f"came: {event.edge.node.content}"
    if isinstance(event, TimelineTimelinePostRemoved):
        return f"went: {event.post_id}"
    return "something else happened"


async def main(url: str, token: str, username: str, after: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    ws_url = url.replace("http", "ws", 1)
    async with Fanfold(url, headers=headers, ws_url=ws_url, ws_connection_init_payload=headers) as client:
        user = (await client.relation_to(username)).user
        if user and user.relation:
            print(label_of(user.relation.status), flush=True)
        async for event in client.timeline(after):
            print(describe(event.timeline), flush=True)
            if isinstance(event.timeline, TimelineTimelinePostAdded):
                return


asyncio.run(main(*sys.argv[1:]))
