"""Passwords, tokens and keys are masked by one rule."""

import pytest

from ksched_cli.errors import shortened_lines
from ksched_cli.masking import masked, masked_data, masked_url, without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@host/x", "https://me:***@host/x"),
        ('Post "http://me:secret@host:80/x": EOF', 'Post "http://me:***@host:80/x": EOF'),
        ("http://me:se@cr@et@host/x", "http://me:***@host/x"),
        ("http://me:se/cr?et#@host/x", "http://me:***@host/x"),
        ("http://:secret@host", "http://:***@host"),
        ("http://me:@host", "http://me:***@host"),
        ("http://secret@host/x", "http://***@host/x"),
        ("http://a:secret@b, http://c:secret@d", "http://a:***@b, http://c:***@d"),
        (r'"http://me:sec\"ret@host"', '"http://me:***@host"'),
        ("http://h/x?token=secret&a=1", "http://h/x?token=***&a=1"),
        ("http://h/x?a=1&api_key=secret", "http://h/x?a=1&api_key=***"),
        ("grpc://me:secret@[::1]:80", "grpc://me:***@[::1]:80"),
    ],
)
def test_secrets_of_urls_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert shortened_lines(text) == shown
    assert masked_data([{"a": text}]) == [{"a": shown}]
    assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://host/a:b@c",
        "http://host:8080/a@b",
        "http://host:8080",
        "http://[::1]:80/filter",
        "me:secret@host",
        "http://host/x?node=a",
        "pod default/web: a@b",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_a_url_without_its_scheme_is_still_one() -> None:
    assert masked_url("me:secret@host/x") == "me:***@host/x"
    assert masked_data({"urlPrefix": "me:secret@host"}) == {"urlPrefix": "me:***@host"}
    assert masked_url("host:80/x") == "host:80/x"


def test_fields_are_masked_by_their_names() -> None:
    data = {
        "token": "secret",
        "apiKey": "secret",
        "keyData": "secret",
        "clientSecret": ["secret"],
        "PASSWORD": 1234,
        "auth": {"bearer": {"a": "secret"}},
        "headers": [{"name": "Authorization", "value": "secret"}, {"name": "a", "value": "b"}],
    }
    shown = {
        "token": "***",
        "apiKey": "***",
        "keyData": "***",
        "clientSecret": "***",
        "PASSWORD": "***",
        "auth": {"bearer": "***"},
        "headers": [{"name": "Authorization", "value": "***"}, {"name": "a", "value": "b"}],
    }
    assert masked_data(data) == shown


def test_fields_that_only_name_a_secret_stay() -> None:
    data = {
        "keyFile": "a",
        "tokenFile": "a",
        "secretName": "a",
        "topologyKey": "zone",
        "matchLabelKeys": ["a"],
        "key": "a",
        "tokenTTL": 3,
        "usesToken": True,
        "password": "",
    }
    assert masked_data(data) == data


def test_a_path_names_the_field_but_not_the_plugin() -> None:
    assert masked_data("secret", "args.Acme.auth.token") == "***"
    assert masked_data("secret", "extenders[0].tlsConfig.keyData") == "***"
    assert masked_data("secret", "profiles[0].pluginConfig[Acme].args.token") == "***"
    assert masked_data(3, "args.TokenBucket.rate") == 3
    assert masked_data(3, "plugins.score.TokenBucket") == 3
    assert masked_data(3, "profiles[0].pluginConfig[TokenBucket].args.rate") == 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("token: abc\na: 1", "token: ***\na: 1"),
        ("password: |\n  a\n\n  b\nc: d", "password: ***\n  ***\n\n  ***\nc: d"),
        ("tokens:\n- x\n- y\nc: d", "tokens:\n***\n***\nc: d"),
        ("- apiKey:\n    x\n  a: b", "- apiKey:\n    ***\n  a: b"),
        ('{"a":1,"apiKey":"x","b":2}', '{"a":1,"apiKey": ***'),
        ('"token":\n"abc"', '"token":\n***'),
        ("- name: Authorization\n  value: x", "- name: Authorization\n  value: ***"),
        ("- value: x\n  name: Authorization", "- value: ***\n  name: Authorization"),
        ("url: https://me:x@h/y", "url: https://me:***@h/y"),
        ("token:\nkeyFile: /a", "token:\nkeyFile: /a"),
        ("enabled: [{name: TokenBucket, weight: 1}]",) * 2,
    ],
)
def test_lines_of_a_file_have_no_secrets(text: str, shown: str) -> None:
    assert "\n".join(without_secrets(text.split("\n"))) == shown
