"""The description of the API: made from the list of options and the table of routes, and kept by the service itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from running import Caller, curator, inline

from optimaldp.asking.ask import FIELDS, key_of, meaning_of
from optimaldp.service.app import create_app
from optimaldp.service.routes import ROUTES, openapi_document


def test_every_route_that_answers_is_described(service: Caller) -> None:
    served = {
        (method, one.path) for one in create_app(service.curator.config).routes for method in one.methods - {"HEAD"}
    }  # type: ignore[attr-defined]
    described = {(m.upper(), path) for path, methods in openapi_document()["paths"].items() for m in methods}
    assert served == described == {(one.method, one.path) for one in ROUTES}
    assert service.client.get("/v1/openapi.json").json() == openapi_document()


def test_the_body_of_a_question_is_the_one_list_of_options() -> None:
    said = openapi_document()["paths"]["/v1/ask"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    own = [key_of(name) for name in FIELDS if not meaning_of(name).of_table]
    assert list(said["properties"]) == ["dataset", *own]
    assert said["required"] == ["dataset", "question", "epsilon"]
    assert said["additionalProperties"] is False


@pytest.mark.slow
@pytest.mark.parametrize("who", ["ann", "sue", "dora", "otto"])
def test_the_service_keeps_its_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str) -> None:
    """Schemathesis sends what the description allows and what it does not: no answer that is not described, no server error."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    with inline(curator(tmp_path), monkeypatch) as service:
        schema = schemathesis.openapi.from_asgi("/v1/openapi.json", service.client.app)
        seen: set[int] = set()
        kept = (status_code_conformance, content_type_conformance, response_schema_conformance)
        for result in schema.get_all_operations():
            operation: Any = result.ok()

            @given(case=operation.as_strategy())
            @settings(max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
            def keeps(case: Any) -> None:
                case.headers = {**(case.headers or {}), **service.curator.headers(who)}
                answer = case.call()
                seen.add(answer.status_code)
                assert answer.status_code < 500
                case.validate_response(answer, checks=kept)

            keeps()
        assert {200, 400, 404} <= seen
