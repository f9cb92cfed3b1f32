"""Identifies the caller of a request: a key, an anonymous reader, or the local operator."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, Any, Literal

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import Scope as AsgiScope

from citewell import conversation
from citewell.api.middleware.requests import READER_COOKIE
from citewell.auth.key_cache import KeyCache
from citewell.domain import Question
from citewell.errors import BadRequest, KeyNeeded, NotAllowed, UnknownBook, WrongHost, WrongKey
from citewell.options import is_loopback
from citewell.settings import Settings
from citewell.storage.keys import PREFIX, SCOPES, Key, Scope

READER_HEADER = "X-Citewell-Reader"
"""A random token of the reader, which separates the conversations of readers who share a key."""
_READER_TOKEN = re.compile(r"[\w-]{22,128}", re.ASCII)
_IPV6_PREFIX_LENGTH = 64
_HOST_HEADER = re.compile(r"(?:\[([\da-f:.]+)\]|([a-z\d._-]+))(?::\d{1,5})?", re.ASCII | re.I)
CLIENT_HEADER = re.compile(
    r"(?:accept|access-control|content|http|if|mcp|openai|sec|x-citewell|x-openwebui|x-stainless)"
    r"(?:-[\w-]+)?|authorization|cache-control|connection|cookie|date|dnt|expect|host"
    r"|idempotency-key|keep-alive|last-event-id|origin|pragma|priority|range|referer|save-data|te"
    r"|traceparent|tracestate|trailer|transfer-encoding|upgrade|upgrade-insecure-requests"
    r"|user-agent|x-api-key|x-request-id|x-requested-with|x-title",
    re.ASCII,
)
"""Headers that browsers, HTTP libraries and chat programs send; all others may be a proxy's."""
Kind = Literal["local", "secret", "publishable", "anonymous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, with its permissions."""

    id: str
    """The key's id; `local` or `anonymous` without one."""
    kind: Kind
    scopes: frozenset[Scope]
    address: str
    """The client's address; for IPv6 its network, since one host has many addresses there."""
    owner: str | None
    """The owner of its conversations; `None` for the local operator."""
    origin: str = ""
    """The `Origin` header of a browser."""
    books: tuple[str, ...] = ()
    """The books it may use; all if empty."""
    key: str = ""
    """The prefix of `owner` that all readers of a shared key, or without a key, have in common."""
    issued_token: str = ""
    """A new reader token for a reader who sent none."""


def caller_of(request: Request) -> Caller:
    """Return the caller that `AuthMiddleware` identified."""
    caller: Caller = request.state.caller
    return caller


def owner_of(request: Request) -> str | None:
    """Return the owner of the conversations that the request may read, write and delete.

    `None` is the local operator. A secret key is an owner. Readers who share a publishable key, or
    use none, are separate owners by their random tokens. See `SharedKeyUser` for readers without a
    token.
    """
    return caller_of(request).owner


def attach_caller(caller: Caller, question: Question) -> Question:
    """Return a question with its owner and book; without a token, its id opens its conversation."""
    return replace(
        question,
        owner=caller.owner,
        key=caller.key,
        opens_by_id=bool(caller.issued_token),
        book=allowed_book(caller, question.book),
    )


def requested_book(request: Request, name: str | None) -> str | None:
    """Return the book of a request; see `allowed_book`."""
    return allowed_book(caller_of(request), name)


def allowed_book(caller: Caller, name: str | None) -> str | None:
    """Return the book with this name, or the only one that the caller may use.

    Raises:
        UnknownBook: The caller may not use it, or may use several and names none.
    """
    books = caller.books
    if not books or name in books:
        return name
    if name is None and len(books) == 1:
        return books[0]
    message = "Say which book is meant." if name is None else f"There is no book {name!r}."
    raise UnknownBook(f"{message} Known: {', '.join(books)}.")


def get_visibility(request: Request) -> conversation.Caller:
    """Return whose conversations the request may read and delete; for operators, all."""
    caller = caller_of(request)
    if "admin" in caller.scopes:
        return conversation.ANY_OWNER
    if caller.key and caller.owner:
        return conversation.SharedKeyUser(caller.owner, caller.key)
    return caller.owner


VisibilityDep = Annotated[Any, Depends(get_visibility)]


async def identify(scope: AsgiScope, key_cache: KeyCache, settings: Settings) -> Caller:
    """Identify the caller of a request.

    Raises:
        KeyNeeded: A key is required, and none was sent.
        WrongKey: The key is not valid.
        NotAllowed: The origin is not one of the publishable key.
        BadRequest: The reader token is malformed.
        WrongHost: The `Host` header is not one of the service.
    """
    headers = Headers(scope=scope)
    address = client_address(scope, settings.access.trusted_proxies)
    origin = headers.get("origin", "")
    await key_cache.refresh()
    local = _is_local(headers, key_cache, settings)
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
    required = settings.access.mode != "open"
    key = await _authenticate(headers, key_cache, origin, required=required)
    if key is None and required:
        foreign = "" if key_cache.ever_had_keys else _foreign_header(headers)
        hint = f" The header `{foreign}` may be that of a proxy." if foreign else ""
        raise KeyNeeded("This service answers only with a key." + hint)
    kind: Kind = "anonymous" if key is None else "publishable" if key.publishable else "secret"
    caller_id = key.id if key else "anonymous"
    token, is_new = _reader_token(headers, issue=kind != "secret")
    token_hash = hashlib.sha256(token.encode()).hexdigest()[:32]
    return Caller(
        id=caller_id,
        kind=kind,
        scopes=key.scopes if key else frozenset({"ask"}),
        address=address,
        owner=f"{caller_id}:{token_hash}" if token else caller_id,
        origin=origin,
        books=key.books if key else (),
        key="" if kind == "secret" else caller_id,
        issued_token=token if is_new else "",
    )


def client_address(scope: AsgiScope, trusted: Sequence[IPv4Network | IPv6Network] = ()) -> str:
    """Return the client's address, from `X-Forwarded-For` if a trusted proxy sent it."""
    hops = [(scope.get("client") or ("", 0))[0]]
    forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
    hops[:0] = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
    # The client is the last hop that is not a trusted proxy.
    while len(hops) > 1 and _is_in_networks(hops[-1], trusted):
        hops.pop()
    return _address_group(hops[-1])


def _is_local(headers: Headers, key_cache: KeyCache, settings: Settings) -> bool:
    loopback = is_loopback(settings.serve.host) and not _foreign_header(headers)
    return settings.access.mode == "auto" and loopback and not key_cache.ever_had_keys


def _foreign_header(headers: Headers) -> str:
    """Return the first header that clients do not send by themselves, or an empty string.

    A proxy on this machine may have added it, and then the request comes from elsewhere.
    """
    return next((name for name in headers if not CLIENT_HEADER.fullmatch(name)), "")


def _check_host(headers: Headers, allowed: Sequence[str], *, local: bool) -> None:
    """Protect a service without keys from DNS rebinding.

    A site whose own domain resolves to this machine would have the same origin as the service, and
    could read its responses.
    """
    if not local and not allowed:
        return  # a key is required, or the service is public
    name = _requested_host(headers)
    if not is_loopback(name) and name not in (host.lower() for host in allowed):
        raise WrongHost("The service is not called by that name.")


def _requested_host(headers: Headers) -> str:
    """Return the `Host` header without its port."""
    match = _HOST_HEADER.fullmatch(headers.get("host", ""))
    return (match[1] or match[2]).lower() if match else ""


async def _authenticate(
    headers: Headers, key_cache: KeyCache, origin: str, *, required: bool
) -> Key | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    secret = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    # Chat clients always send some key; ignore it if none is required and it is not one of ours.
    if not secret or not (required or secret.startswith(PREFIX)):
        return None
    key = await key_cache.find(secret)
    if key is None:
        raise WrongKey("The key is unknown, expired or revoked.")
    if key.publishable and origin not in key.origins:
        raise NotAllowed("This key works only on pages of the sites that it was created for.")
    return key


def _reader_token(headers: Headers, *, issue: bool) -> tuple[str, bool]:
    """Return the reader's token, or an empty string, and whether it was issued now."""
    sent = headers.get(READER_HEADER)
    if sent is not None and not _READER_TOKEN.fullmatch(sent):
        raise BadRequest(f"{READER_HEADER} must be a random text of 22 to 128 letters and digits.")
    # `RequestHeadMiddleware` passes on no other cookie.
    token = sent or headers.get("cookie", "").removeprefix(f"{READER_COOKIE}=")
    if token or not issue:
        return token, False
    return secrets.token_urlsafe(24), True


def _is_in_networks(address: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
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
    return str(ip_network((parsed, _IPV6_PREFIX_LENGTH), strict=False))
