"""AlterUserScramCredentials and DescribeUserScramCredentials, as raw probes see them; no case leaves a credential."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol_specs.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from tests.differential.case import case
from tests.differential.probe import attempts

if TYPE_CHECKING:
    from tests.differential.probe import Probe

SHA_256: Final = 1
SHA_512: Final = 2
UNKNOWN: Final = (0, 3, -1, 127, -128)
NEWEST: Final = 0


def put(
    user: str, mechanism: int = SHA_256, iterations: int = 4096, salt: bytes = b"salt", salted: bytes = b"key"
) -> ScramCredentialUpsertion:
    """A credential to set."""
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted
    )


def remove(user: str, mechanism: int = SHA_256) -> ScramCredentialDeletion:
    """A credential to delete."""
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(*changes: ScramCredentialUpsertion | ScramCredentialDeletion) -> AlterUserScramCredentialsRequest:
    """A request to alter."""
    return AlterUserScramCredentialsRequest(
        deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )


def describe(*users: str) -> DescribeUserScramCredentialsRequest:
    """A request to describe users."""
    return DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users])


def by_mechanism(response: dict[str, Any]) -> dict[str, Any]:
    """Sort the mechanisms of each user, whose order is that of a table of enumeration constants: of their addresses."""
    for result in response["results"]:
        result["credentialInfos"].sort(key=lambda info: info["mechanism"])
    return response


def shown(probe: Probe, user: str) -> dict[int, int]:
    """The iterations that the broker shows of one user, by mechanism."""
    response: Any = probe.quiet(describe(user), NEWEST)
    return {info.mechanism: info.iterations for info in response.results[0].credential_infos}


def await_shown(probe: Probe, wanted: dict[str, dict[int, int]]) -> None:
    """Wait until the broker shows exactly these credentials."""
    for user, credentials in wanted.items():
        for _ in attempts(f"the credentials {credentials} of {user}"):
            if shown(probe, user) == credentials:
                break


def clear(probe: Probe, *users: str) -> None:
    """Remove the credentials of users that the broker shows, one mechanism per request.

    A case waits until what it has set is shown: a credential of which the broker learns later would stay.
    """
    for mechanism in (SHA_256, SHA_512):
        gone = [remove(user, mechanism) for user in users if mechanism in shown(probe, user)]
        response: Any = probe.quiet(alter(*gone), NEWEST)
        assert all(each.error_code == 0 for each in response.results), response
    await_shown(probe, {key: {} for key in users})


@case()
def no_users_and_no_changes(probe: Probe) -> None:
    probe.exchange(alter(), NEWEST)
    probe.exchange(describe(f"{probe.name}-none"), NEWEST)
    probe.exchange(describe(""), NEWEST)
    probe.exchange(describe("x", "", "x", "", "y"), NEWEST)


@case()
def set_change_and_delete(probe: Probe) -> None:
    user = f"{probe.name}-ann"
    probe.exchange(alter(put(user)), NEWEST)
    await_shown(probe, {user: {SHA_256: 4096}})
    probe.exchange(describe(user), NEWEST)
    probe.exchange(describe(user, user), NEWEST)
    probe.exchange(alter(put(user, iterations=16384)), NEWEST, note="replace")
    await_shown(probe, {user: {SHA_256: 16384}})
    probe.exchange(alter(put(user, SHA_512, salt=b"")), NEWEST, note="another mechanism")
    await_shown(probe, {user: {SHA_256: 16384, SHA_512: 4096}})
    probe.exchange(describe(user), NEWEST, only=by_mechanism)
    probe.exchange(alter(remove(user)), NEWEST)
    await_shown(probe, {user: {SHA_512: 4096}})
    probe.exchange(alter(remove(user)), NEWEST, note="again")
    probe.exchange(alter(remove(user, SHA_512)), NEWEST)
    await_shown(probe, {user: {}})
    probe.exchange(describe(user), NEWEST)


@case()
def invalid_alterations(probe: Probe) -> None:
    user = f"{probe.name}-bob"
    for iterations in (4095, 16385, 0, -1, 2**31 - 1):
        probe.exchange(alter(put(user, iterations=iterations)), NEWEST, note=f"{iterations} iterations")
        probe.exchange(alter(put(user, SHA_512, iterations=iterations)), NEWEST, note=f"{iterations} iterations")
    for mechanism in UNKNOWN:
        probe.exchange(alter(put(user, mechanism)), NEWEST, note=f"mechanism {mechanism}")
        probe.exchange(alter(remove(user, mechanism)), NEWEST, note=f"mechanism {mechanism}")
    probe.exchange(alter(put(user, 0, iterations=1)), NEWEST, note="mechanism and iterations")
    probe.exchange(alter(put("", 0, iterations=1)), NEWEST, note="name, mechanism and iterations")
    probe.exchange(alter(remove("", 0)), NEWEST, note="name and mechanism")
    probe.exchange(alter(remove("")), NEWEST, note="empty name")
    probe.exchange(alter(remove(user)), NEWEST, note="unknown user")
    probe.exchange(alter(put(user, salted=b"")), NEWEST, note="empty salted password")
    probe.exchange(alter(put(user, salted=b""), put(f"{user}2")), NEWEST, note="one empty salted password")
    await_shown(probe, {f"{user}2": {SHA_256: 4096}})
    clear(probe, f"{user}2")
    probe.exchange(describe(user), NEWEST)


@case()
def users_that_are_altered_twice(probe: Probe) -> None:
    user, other = f"{probe.name}-cat", f"{probe.name}-dan"
    changes = {
        "two upsertions": [put(user), put(user)],
        "two mechanisms": [put(user), put(user, SHA_512)],
        "two unknown deletions": [remove(user), remove(user)],
        "deletion of an unknown one and upsertion": [remove(user), put(user)],
        "a wrong one and a right one": [put(user, iterations=1), put(user)],
        "a right one and a wrong one": [put(user), put(user, iterations=1)],
        "three": [put(user), put(user), put(user)],
        "empty names": [put(""), put(""), remove("")],
        "beside another": [put(user), put(other), put(user)],
    }
    for note, made in changes.items():
        probe.exchange(alter(*made), NEWEST, note=note)
    await_shown(probe, {other: {SHA_256: 4096}})
    probe.exchange(alter(remove(other), remove(other, SHA_512)), NEWEST, note="two deletions")
    probe.exchange(alter(remove(other), remove(other)), NEWEST, note="two deletions of one")
    probe.exchange(alter(remove(other), put(other)), NEWEST, note="deletion and upsertion")
    probe.exchange(alter(remove(other), put(other, SHA_512)), NEWEST, note="deletion and another mechanism")
    probe.exchange(describe(user, other), NEWEST)
    clear(probe, other)


@case()
def order_of_results(probe: Probe) -> None:
    users = [f"{probe.name}-{each}" for each in ("a", "b", "zeta", "mid", "Ω", "x,y=z", "user name", "4096")]
    many = [f"{probe.name}-{number}" for number in range(40)]
    probe.exchange(alter(*map(put, users)), NEWEST)
    await_shown(probe, {key: {SHA_256: 4096} for key in users})
    probe.exchange(describe(*users), NEWEST)
    probe.exchange(describe(*reversed(users)), NEWEST)
    probe.exchange(describe(*many, *users), NEWEST)
    mixed = [remove(users[0]), remove(users[1]), *map(put, many[:3]), remove("q"), put(""), put("w", iterations=1)]
    probe.exchange(alter(*mixed), NEWEST, note="mixed")
    await_shown(probe, {users[0]: {}, users[1]: {}, many[2]: {SHA_256: 4096}})
    mechanisms = [put(user, SHA_512, iterations=5000 + place) for place, user in enumerate(many)]
    probe.exchange(alter(*mechanisms, put("w", 9)), NEWEST, note="many")
    await_shown(probe, {many[-1]: {SHA_512: 5039}})
    probe.exchange(describe(*many), NEWEST, only=by_mechanism)

    def ours(response: dict[str, Any]) -> Any:
        results = [each for each in by_mechanism(response)["results"] if each["user"].startswith(probe.name)]
        return response | {"results": sorted(results, key=lambda each: str(each["user"]))}

    probe.exchange(DescribeUserScramCredentialsRequest(users=None), NEWEST, only=ours)
    probe.exchange(describe(), NEWEST, only=ours)
    clear(probe, *users, *many)


@case()
def order_after_users_are_left_out(probe: Probe) -> None:
    users = [f"{probe.name}-{number}" for number in range(14)]
    probe.exchange(alter(*map(put, users), *map(put, users[3:10])), NEWEST, note="set twice")
    left = [*users[:3], *users[10:]]
    await_shown(probe, {user: {SHA_256: 4096} for user in left})
    probe.quiet(alter(*map(put, users)), NEWEST)
    await_shown(probe, {user: {SHA_256: 4096} for user in users})
    probe.exchange(alter(*map(remove, users), *map(put, users[2:9])), NEWEST, note="deleted and set")
    await_shown(probe, {user: {} for user in (*users[:2], *users[9:])})
    clear(probe, *users)


@case()
def at_the_controller(probe: Probe) -> None:
    user = f"{probe.name}-eve"
    controller = probe.connect(listener="CONTROLLER")
    probe.exchange(alter(put(user), put("", 9)), NEWEST, on=controller)
    await_shown(probe, {user: {SHA_256: 4096}})
    probe.exchange(alter(remove(user), remove("no")), NEWEST, on=controller)
    await_shown(probe, {user: {}})
    probe.exchange(describe(user), NEWEST, on=controller)
    probe.exchange(describe(), NEWEST, on=controller, note="no user")
    probe.exchange(describe(user, user), NEWEST, on=controller, note="one twice")
    probe.expect_silence(DescribeUserScramCredentialsRequest(users=None), NEWEST, on=controller, note="all")
