"""Who is calling: a key, a reader without one, or the operator on the same machine."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, Any, Literal

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import Scope as AsgiScope

from citewell import conversation
from citewell.auth.key_cache import KeyCache
from citewell.domain import Question
from citewell.errors import BadRequest, KeyNeeded, NotAllowed, UnknownBook, WrongHost, WrongKey
from citewell.options import is_loopback
from citewell.settings import Settings
from citewell.storage.keys import PREFIX, SCOPES, Key, Scope

READER_HEADER = "X-Citewell-Reader"
"""A reader's own random id; it keeps the conversations of readers apart who share a key."""
READER_COOKIE = "citewell_reader"
_READER_ID = re.compile(r"[\w-]{22,128}", re.ASCII)
_LOCAL_NETWORK = 64
_HOST = re.compile(r"(?:\[([\da-f:.]+)\]|([a-z\d._-]+))(?::\d{1,5})?", re.ASCII | re.I)
PROXY_HEADERS = frozenset(
    {
        *("forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-original-host"),
        *("x-original-forwarded-for", "x-envoy-external-address", "x-amzn-trace-id"),
        *("true-client-ip", "fastly-client-ip", "fly-client-ip", "cf-connecting-ip", "cf-ray"),
        "cdn-loop",
    }
)
"""What proxies add to what they pass on, besides headers that begin with `X-Forwarded-`."""
Kind = Literal["local", "secret", "publishable", "anonymous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request, and what they may do."""

    id: str
    """The key's id; `local` or `anonymous` without one."""
    kind: Kind
    scopes: frozenset[Scope]
    address: str
    """The client's address; for IPv6 its network, since one host has many addresses there."""
    owner: str | None
    """Whose conversations it sees; `None` is the operator's own machine."""
    origin: str = ""
    """The site whose page sent it, if a browser says so."""
    books: tuple[str, ...] = ()
    """The books it may ask about; all, if none is named."""
    key: str = ""
    """The part of `owner` that all readers of the key have, where several share it or need none."""
    issued_token: str = ""
    """A token that the reader, who sent none, was given just now to send from here on."""

    def has_scope(self, scope: Scope) -> bool:
        """Return whether it may do what needs a scope."""
        return scope in self.scopes


def caller_of(request: Request) -> Caller:
    """Return who sent a request that has come in."""
    caller: Caller = request.state.caller
    return caller


def owner_of(request: Request) -> str | None:
    """Return whose conversations the request may read, write and delete.

    `None` is the operator of a service that is open on loopback. A key is its own owner; where
    several readers share one, or none is needed, each has an owner of their own by a token that
    nobody else can guess. See `SharedKeyUser` for readers who send none.
    """
    return caller_of(request).owner


def attach_caller(caller: Caller, question: Question) -> Question:
    """Return a question with who asks it; what a reader without a token begins, its id opens."""
    return replace(
        question,
        owner=caller.owner,
        key=caller.key,
        opens_by_id=bool(caller.issued_token),
        book=allowed_book(caller, question.book),
    )


def requested_book(request: Request, named: str | None) -> str | None:
    """Return the book that a request is about; see `allowed_book`."""
    return allowed_book(caller_of(request), named)


def allowed_book(caller: Caller, named: str | None) -> str | None:
    """Return the book that a caller means; one that its key is not made for is not known.

    Raises:
        UnknownBook: it is another, or the key is for several and none of them is named.
    """
    books = caller.books
    if not books or named in books:
        return named
    if named is None and len(books) == 1:
        return books[0]
    said = "Say which book is meant." if named is None else f"There is no book {named!r}."
    raise UnknownBook(f"{said} Known: {', '.join(books)}.")


def get_visibility(request: Request) -> conversation.Caller:
    """Return whose conversations the request may read and delete: an operator's, all."""
    caller = caller_of(request)
    if caller.has_scope("admin"):
        return conversation.ANY_OWNER
    if caller.key and caller.owner:
        return conversation.SharedKeyUser(caller.owner, caller.key)
    return caller.owner


VisibilityDep = Annotated[Any, Depends(get_visibility)]


async def identify(scope: AsgiScope, cached_keys: KeyCache, settings: Settings) -> Caller:
    """Find out who is calling.

    Raises:
        KeyNeeded: a key is needed, and none was sent.
        WrongKey: one was sent that does not hold.
        NotAllowed: a publishable key was sent from another site than those it was made for.
        BadRequest: the reader's id cannot be one.
        WrongHost: the service was called by a name that is not its own.
    """
    headers = Headers(scope=scope)
    address = client_address(scope, settings.access.trusted_proxies)
    origin = headers.get("origin", "")
    await cached_keys.refresh()
    local = _is_local(headers, cached_keys, settings)
    _check_host(headers, settings.access.allowed_hosts, local=local)
    if local:
        return Caller(
            id="local",
            kind="local",
            scopes=frozenset(SCOPES),
            address=address,
            owner=None,
            origin=origin,
        )
    key = await _authenticate(headers, cached_keys, origin, needed=settings.access.mode != "open")
    if key is None and settings.access.mode != "open":
        raise KeyNeeded("This service answers only with a key.")
    kind: Kind = "anonymous" if key is None else "publishable" if key.publishable else "secret"
    name = key.id if key else "anonymous"
    reader, new = _reader_token(headers, mint=kind != "secret")
    return Caller(
        id=name,
        kind=kind,
        scopes=key.scopes if key else frozenset({"ask"}),
        address=address,
        owner=f"{name}:{hashlib.sha256(reader.encode()).hexdigest()[:32]}" if reader else name,
        origin=origin,
        books=key.books if key else (),
        key="" if kind == "secret" else name,
        issued_token=reader if new else "",
    )


def client_address(scope: AsgiScope, trusted: Sequence[IPv4Network | IPv6Network] = ()) -> str:
    """Return the client's address; what `X-Forwarded-For` says only if a trusted proxy says it."""
    hops = [(scope.get("client") or ("", 0))[0]]
    forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
    hops[:0] = [one.strip() for one in forwarded.split(",") if one.strip()]
    # From our end backwards: the first that no trusted proxy vouches for is the client.
    while len(hops) > 1 and _is_within(hops[-1], trusted):
        hops.pop()
    return _address_group(hops[-1])


def _is_local(headers: Headers, cached_keys: KeyCache, settings: Settings) -> bool:
    # What a proxy passes on comes from elsewhere, though the proxy stands on this machine.
    loopback = is_loopback(settings.serve.host) and not _is_proxied(headers)
    return settings.access.mode == "auto" and loopback and not cached_keys.ever_had_keys


def _is_proxied(headers: Headers) -> bool:
    return any(name in PROXY_HEADERS or name.startswith("x-forwarded-") for name in headers)


def _check_host(headers: Headers, allowed: Sequence[str], *, local: bool) -> None:
    """See that no other site leads a browser here by a name of its own that means this machine.

    Such a page would be of the same origin as the service, and could read all that it gives.
    """
    if not local and not allowed:
        return  # a key is needed, or anyone may ask
    name = _host(headers)
    if not is_loopback(name) and name not in (one.lower() for one in allowed):
        raise WrongHost("The service is not called by that name.")


def _host(headers: Headers) -> str:
    """Return the name that the service was called by, without its port."""
    found = _HOST.fullmatch(headers.get("host", ""))
    return (found[1] or found[2]).lower() if found else ""


async def _authenticate(
    headers: Headers, cached_keys: KeyCache, origin: str, *, needed: bool
) -> Key | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    secret = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    # Chat clients always send some word; where none is needed, one that cannot be a key is none.
    if not secret or not (needed or secret.startswith(PREFIX)):
        return None
    key = await cached_keys.find(secret)
    if key is None:
        raise WrongKey("The key is not known, has expired, or was revoked.")
    if key.publishable and origin not in key.origins:
        raise NotAllowed("This key works only on the pages of the sites it was made for.")
    return key


def _reader_token(headers: Headers, *, mint: bool) -> tuple[str, bool]:
    """Return the reader's id and whether it is new; none where a secret key comes without one."""
    sent = headers.get(READER_HEADER)
    if sent is not None and not _READER_ID.fullmatch(sent):
        raise BadRequest(
            f"{READER_HEADER} has to be a random text of 22 to 128 letters and digits."
        )
    known = sent or _cookie(headers)
    if known or not mint:
        return known, False
    return secrets.token_urlsafe(24), True


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(READER_COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel and _READER_ID.fullmatch(morsel.value) else ""


def _is_within(address: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)


def _address_group(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, _LOCAL_NETWORK), strict=False))
