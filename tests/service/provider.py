"""A small OpenID provider on the loopback address: it signs with a real key, checks PKCE, and can be told to cheat."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT = "curator"


class OpenIdProvider:
    """One account is signed in; *cheat* changes what its tokens say or how they are signed."""

    def __init__(self, issuer: str) -> None:
        self.issuer, self.key, self.other = issuer, *(RSAKey.generate_key(2048, {"kid": "1"}) for _ in range(2))
        self.account: dict[str, Any] = {"sub": "u-1", "email": "ann@example.org", "email_verified": True}
        self.cheat: dict[str, Any] = {}
        self._codes: dict[str, dict[str, str]] = {}

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._described),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/keys", self._keys),
            ]
        )

    async def _described(self, _: Request) -> Response:
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        described = {name: f"{self.issuer}/{place}" for name, place in places.items()}
        return JSONResponse({"issuer": self.cheat.get("issuer", self.issuer), **described})

    async def _keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def _authorize(self, request: Request) -> Response:
        asked, code = dict(request.query_params), secrets.token_hex(16)
        assert asked["client_id"] == CLIENT
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        self._codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}", 302)

    async def _token(self, request: Request) -> Response:
        form = dict(await request.form())
        asked = self._codes.pop(str(form.get("code")), None)
        digest = hashlib.sha256(str(form.get("code_verifier")).encode()).digest()
        if asked is None or _coded(digest) != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse({"access_token": "a", "token_type": "Bearer", "id_token": self._signed(asked["nonce"])})

    def _signed(self, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **self.account}
        claims |= self.cheat.get("claims", {})
        claims = {name: value for name, value in claims.items() if value is not None}
        how = self.cheat.get("signed")
        if how in ("none", "HS256"):  # unsigned, or by the public key as if it were a shared secret
            written = ".".join(_coded(json.dumps(part).encode()) for part in ({"alg": how, "kid": "1"}, claims))
            mac = hmac.digest(self.key.as_pem(private=False), written.encode(), "sha256")
            return f"{written}.{'' if how == 'none' else _coded(mac)}"
        return jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.other if how == "other" else self.key)


def _coded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


@contextmanager
def openid_provider() -> Iterator[OpenIdProvider]:
    """A running provider; stopped at the end."""
    import socket

    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    provider = OpenIdProvider(f"http://127.0.0.1:{listening.getsockname()[1]}")
    server = uvicorn.Server(uvicorn.Config(provider.app(), log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join(10)
