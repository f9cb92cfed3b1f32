"""Who may go on with a conversation."""

from uuid import uuid4

from tests.conformance.serving import Body, Service

Keys = dict[str, dict[str, str]]
Asked = tuple[str, Body]


def _without_null(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None}


def _hop() -> dict[str, str]:
    """Return the header of a proxy, for a reader of an address of their own."""
    parts = uuid4().bytes[:3]
    return {"x-forwarded-for": ".".join(["10", *(str(part) for part in parts)])}


def assert_isolated(
    service: Service, keys: Keys, asked: Asked, given: str, place: str, sent: str
) -> None:
    """See that a conversation of one key is none to another: reading, going on, deleting.

    `given` is the field of the answer that holds the conversation's id, `place` where it is read,
    and `sent` the field of the request that continues it.
    """
    path, body = asked[0], _without_null(asked[1])
    with service.stranger() as client:
        begun = client.post(path, json=body, headers=keys["a"])
        assert begun.status_code == 200, begun.text
        session = begun.json()[given] if given else body[sent]
        other = client.post(path, json={**body, sent: session}, headers=keys["b"])
        assert other.status_code == 404, other.text
        if place:
            where = place.format(session)
            assert client.get(where, headers=keys["b"]).status_code == 404
            assert client.delete(where, headers=keys["b"]).status_code == 404
            assert client.get(where, headers=keys["a"]).status_code == 200
        again = client.post(path, json={**body, sent: session}, headers=keys["a"])
        assert again.status_code == 200, again.text
        assert (again.json()[given] if given else session) == session


def assert_followed_up_by_id(
    public: Service, keyed: Service, keys: Keys, asked: Asked, given: str, sent: str
) -> None:
    """See that clients that keep nothing but the id go on with their conversation.

    Each request comes from a client of its own, without cookies and without a reader's token.
    Another key is told that there is no such conversation.
    """
    path, body = asked[0], _without_null(asked[1])
    for service, headers in ((public, _hop()), (keyed, keys["page"])):
        session = body.get(sent)
        for _ in range(3):
            with service.stranger() as client:
                known = {} if session is None else {sent: session}
                reply = client.post(path, json={**body, **known}, headers=headers)
            assert reply.status_code == 200, reply.text
            came = reply.json()[given] if given else session
            assert session in (None, came)
            session = came
        if service is keyed:
            with service.stranger() as client:
                reply = client.post(path, json={**body, sent: session}, headers=keys["a"])
            assert reply.status_code == 404, reply.text
