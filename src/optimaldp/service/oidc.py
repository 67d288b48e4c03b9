"""Signing in at the page with an organisation's own accounts: OpenID Connect, the code flow with state, nonce and PKCE.

Authlib speaks to the provider and checks the claims, joserfc the signature. What comes out is a key of one day, like any other.
A browser holds one random cookie meanwhile; everything else of the way waits in the store, so any process may go on with it,
and each step of it can be taken once. Every failure is the same for the browser; the log says of which kind it was.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from optimaldp.errors import InputError
from optimaldp.extras import requiring
from optimaldp.service.configuration import Configuration, SignIn, is_encrypted, is_loopback
from optimaldp.service.keys import create_key
from optimaldp.service.refusals import NO_KEY, error_document
from optimaldp.service.store import ServiceStore
from optimaldp.service.watching import log

if TYPE_CHECKING:
    from authlib.integrations.httpx_client import AsyncOAuth2Client

START, BACK, KEY = "/sign-in", "/sign-in/back", "/sign-in/key"
MINUTES = 10
"""How long the way through the provider's pages may take."""
_COOKIE = "optimaldp_sign_in"
# Signed by a key that the provider alone has: never unsigned, never by a secret that is shared.
_ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
_LEEWAY = 60  # seconds that two clocks may differ
_DISCOVERY = "/.well-known/openid-configuration"
_LONGEST = 4096


class NotSignedInError(Exception):
    """The browser is not let in; the words are for the log."""


@dataclass(frozen=True)
class Provider:
    """What the provider says of itself."""

    issuer: str
    authorization: str
    token: str
    keys: str


class SignInPages:
    """The three steps: to the provider, back from it, and the key for the page."""

    def __init__(self, config: Configuration, rules: SignIn, store: Callable[[], ServiceStore]) -> None:
        with requiring("authlib"):
            import authlib.integrations.httpx_client  # noqa: F401
        self._config, self._rules, self._store = config, rules, store

    def routes(self) -> list[Route]:
        return [
            Route(START, self._start, methods=["GET"]),
            Route(BACK, self._back, methods=["GET"]),
            Route(KEY, self._key, methods=["POST"]),
        ]

    async def _start(self, request: Request) -> Response:
        try:
            provider = await self._provider()
            browser, state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(4))
            if not await run_in_threadpool(
                self._store().begin_sign_in, _digest(browser), state, nonce, verifier, MINUTES
            ):
                raise NotSignedInError("too many are on their way")
            async with self._client() as client:
                url, _ = client.create_authorization_url(
                    provider.authorization, state=state, nonce=nonce, code_verifier=verifier
                )
        except NotSignedInError as error:
            return _refused(error)
        answer = RedirectResponse(url, 303)
        secure = self._rules.address.startswith("https:")
        # Lax: it has to come along when the provider sends the browser back.
        answer.set_cookie(
            _COOKIE, browser, max_age=60 * MINUTES, path=START, secure=secure, httponly=True, samesite="lax"
        )
        return answer

    async def _back(self, request: Request) -> Response:
        try:
            browser, state, code = request.cookies.get(_COOKIE), *map(request.query_params.get, ("state", "code"))
            if not browser or not state or not code or max(map(len, (browser, state, code))) > _LONGEST:
                raise NotSignedInError("no cookie, state or code")
            # A state is used once, by the browser that it was made for.
            waiting = await run_in_threadpool(self._store().use_sign_in, _digest(browser), state)
            if waiting is None:
                raise NotSignedInError("unknown, used or old state")
            name = self._name(await self._claims(code, *waiting))
            await run_in_threadpool(self._store().name_sign_in, _digest(browser), name)
        except NotSignedInError as error:
            return _refused(error)
        return RedirectResponse("/#signed-in", 303)

    async def _key(self, request: Request) -> Response:
        """The key, once, for the page that this browser shows: another site's page could neither send this nor read it."""
        browser = request.cookies.get(_COOKIE, "")
        if request.headers.get("content-type") != "application/json" or len(browser) > _LONGEST:
            return JSONResponse(error_document(NO_KEY), 401)
        name = await run_in_threadpool(self._store().end_sign_in, _digest(browser))
        try:
            key = None if name is None else await run_in_threadpool(self._made, name)
        except InputError:  # a name that has no role any more
            key = None
        answer = JSONResponse(error_document(NO_KEY), 401) if key is None else JSONResponse({"key": key})
        answer.delete_cookie(_COOKIE, path=START)
        return answer

    def _made(self, name: str) -> str:
        store = self._store()
        key = create_key(self._config, name, days=1, store=store)
        store.note(name, "sign in", "done")
        return key

    def _name(self, claims: Any) -> str:
        """Whose account it is here; an address that the provider has not verified is anybody's."""
        claim = self._rules.claim
        if claim == "email" and claims.get("email_verified") is not True:
            raise NotSignedInError("the address is not verified")
        name = self._rules.people.get(str(claims.get(claim)))
        if name is None:
            raise NotSignedInError("nobody here")
        return name

    def _client(self) -> AsyncOAuth2Client:
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        rules = self._rules
        return AsyncOAuth2Client(
            rules.client,
            rules.secret,
            token_endpoint_auth_method="none" if rules.secret is None else "client_secret_basic",
            scope="openid email" if rules.claim == "email" else "openid",
            redirect_uri=f"{rules.address}{BACK}",
            code_challenge_method="S256",
            timeout=10,
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(rules.issuer).hostname or ""),
        )

    async def _provider(self) -> Provider:
        document = await self._fetched(self._rules.issuer.rstrip("/") + _DISCOVERY)
        found = [document.get(name) for name in ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")]
        if found[0] != self._rules.issuer or not all(isinstance(one, str) and is_encrypted(one) for one in found):
            raise NotSignedInError("the provider describes another one, or addresses without TLS")
        return Provider(*map(str, found))

    async def _fetched(self, url: str) -> dict[str, Any]:
        try:
            async with self._client() as client:
                reply = await client.request("GET", url, withhold_token=True)
                document = reply.raise_for_status().json()
        except Exception:  # whatever goes wrong with what somebody else's program sends, nobody is let in
            raise NotSignedInError("the provider does not answer") from None
        if not isinstance(document, dict):
            raise NotSignedInError("the provider does not answer")
        return document

    async def _claims(self, code: str, nonce: str, verifier: str) -> Any:
        """The claims of the ID token that the provider gives for *code*: signed, for us, fresh, and for this very sign-in."""
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.jwk import KeySet

        provider, client_id = await self._provider(), self._rules.client
        try:
            async with self._client() as client:
                token = await client.fetch_token(provider.token, code=code, code_verifier=verifier)
            keys: Any = await self._fetched(provider.keys)
            signed = jwt.decode(token["id_token"], KeySet.import_key_set(keys), algorithms=_ALGORITHMS)
            options = {
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": client_id},
            }
            claims = CodeIDToken(signed.claims, signed.header, options, {"nonce": nonce, "client_id": client_id})
            claims.validate(leeway=_LEEWAY)
        except NotSignedInError:
            raise
        except Exception as error:
            raise NotSignedInError(f"the token is not accepted ({type(error).__name__})") from None
        return claims


def _digest(browser: str) -> str:
    return hashlib.sha256(browser.encode()).hexdigest()


def _refused(error: NotSignedInError) -> Response:
    log("sign-in", level=logging.WARNING, refused=str(error))
    return RedirectResponse("/#sign-in-refused", 303)
