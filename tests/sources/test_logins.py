"""What is kept of what was typed, and who may be asked."""

from __future__ import annotations

import pytest

from gpudash.sources.logins import Logins, is_one_time

PLACE = "ana@gpu-a"


@pytest.mark.parametrize(
    ("prompt", "once"),
    [
        ("ana@gpu-a's password: ", False),
        ("Password: ", False),
        ("Passphrase of ~/.ssh/id: ", False),
        ("One-time password (OATH) for `ana': ", True),
        ("Verification code: ", True),
        ("Password + token: ", True),
        ("Duo two-factor login for ana. Passcode or option (1-3): ", True),
        ("Enter PIN for authenticator: ", True),
        ("Response: ", True),
        ("", True),
    ],
)
def test_what_is_good_only_once(prompt: str, once: bool) -> None:
    assert is_one_time(prompt) is once


async def test_a_password_is_asked_for_once() -> None:
    asked: list[str] = []

    async def ask(place: str, prompt: str, is_seen: bool) -> str:
        asked.append(prompt)
        return "secret"

    logins = Logins(ask)
    assert await logins.answer(PLACE, "Password: ", is_attended=False) is None
    for is_attended in (True, True, False):
        assert await logins.answer(PLACE, "Password: ", is_attended=is_attended) == "secret"
    assert asked == ["Password: "]
    assert logins.has_kept(PLACE)
    assert "secret" not in repr(logins)
    logins.forget(PLACE, "Password: ")
    assert await logins.answer(PLACE, "Password: ", is_attended=False) is None


async def test_a_code_is_never_kept() -> None:
    async def ask(place: str, prompt: str, is_seen: bool) -> str:
        return "123456"

    logins = Logins(ask)
    assert not logins.asks_once(PLACE)
    assert await logins.answer(PLACE, "Verification code: ", is_attended=True) == "123456"
    assert logins.asks_once(PLACE)
    assert not logins.has_kept(PLACE)
    assert await logins.answer(PLACE, "Verification code: ", is_attended=False) is None


def test_an_invitation_is_for_one_attempt() -> None:
    logins = Logins()
    logins.invite("gpu-a")
    assert not logins.take_invitation("gpu-a"), "nobody is there"

    async def ask(place: str, prompt: str, is_seen: bool) -> None:
        return None

    logins.ask = ask
    logins.invite("gpu-a")
    assert logins.take_invitation("gpu-a")
    assert not logins.take_invitation("gpu-a")
