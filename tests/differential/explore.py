"""Send drawn requests to a real broker and to ours, and report where the responses differ.

    python -m tests.differential.explore --release 4.3.1 --api Fetch --seed 1 --probes 500

Three kinds of probes: `values` (sound frames of values that matter), `mutations` (a field of a sound request at its
borders) and `broken` (frames that break a rule of the wire format). With --listener controller the controllers are
sent. Without --real a real broker is started; with it, the one at that address is used, and --name must be one that
it has not seen. What differs is printed, class by class.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from broker_sim.apis.controller.controller_apis import HANDLERS as CONTROLLER_HANDLERS
from broker_sim.apis.kafka_apis import HANDLERS
from broker_sim.threaded_cluster import ThreadedCluster
from protocol_specs import releases
from protocol_specs.api_key import ApiKey
from protocol_specs.registry import request_type
from tests.differential.case import RELEASES
from tests.differential.exploration_bytes import broken, headers, mutations_of
from tests.differential.exploration_sides import PATIENT_SECONDS, Response, Shot, Side, framed_request
from tests.differential.exploration_values import Drawer
from tests.differential.extra_listeners import bound_by, probe_servers
from tests.differential.probe import SILENT
from tests.differential.record import SETTINGS
from tests.differential.share_requests import SHARE
from tests.interop.real_kafka import real_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTENERS: Final = ("broker", "controller")
FILES: Final = {LISTENERS[0]: HANDLERS.served, LISTENERS[1]: CONTROLLER_HANDLERS.served}
KINDS: Final = ("values", "mutations", "broken")
MUTATIONS_OF_ONE: Final = 10
SETTLE_SECONDS: Final = 0.03
CHANGING: Final = frozenset({0, 3, 19, 20, 21, 33, 37, 43, 44, 45, 49, 57})
"""APIs after which a real broker needs a moment until it returns the change."""

NEVER: Final = frozenset({64, 81})
"""APIs that are not bent by chance: they could take the only broker out of its cluster."""

DEADLY: Final = 80
"""AddRaftVoter, which is never sent: many such requests end the controller of 4.3.1."""


@dataclass(slots=True)
class Difference:
    """One class of differences: how often it was seen, and its first probe."""

    shot: Shot
    real: Any
    ours: Any
    count: int = 1
    path: str = ""


@dataclass(slots=True)
class Findings:
    """The findings of an exploration."""

    sent: int = 0
    differences: dict[str, Difference] = field(default_factory=dict)

    def add(self, shot: Shot, real: Response, ours: Response) -> None:
        """Compare two responses; a different order is a class of its own."""
        self.sent += 1
        if real.ordered == ours.ordered:
            return
        sorted_differs = real.sorted != ours.sorted
        left, right = (real.sorted, ours.sorted) if sorted_differs else (real.ordered, ours.ordered)
        path, was, now = first_difference(left, right)
        kind = f"{path}: {_short(was)} -> {_short(now)}" if sorted_differs else f"order of {path.partition('[')[0]}"
        name = ApiKey.of(shot.api_key).api_name if shot.api_key >= 0 else "frame"
        key = f"{name} {kind}"
        if key in self.differences:
            self.differences[key].count += 1
        else:
            self.differences[key] = Difference(shot, left, right, path=path)


def _short(value: Any) -> str:
    text = json.dumps(value) if not isinstance(value, str) else value
    return text if len(text) <= 160 else f"{text[:160]}..."


def first_difference(real: Any, ours: Any, path: str = "") -> tuple[str, Any, Any]:
    """Return the path of the first difference of two responses, without indices, and both values."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for name in [*real, *(each for each in ours if each not in real)]:
            if real.get(name, "<none>") != ours.get(name, "<none>"):
                inner = f"{path}.{name}" if path else name
                return first_difference(real.get(name, "<none>"), ours.get(name, "<none>"), inner)
    if isinstance(real, list) and isinstance(ours, list):
        if len(real) != len(ours):
            return f"len({path})", len(real), len(ours)
        for left, right in zip(real, ours, strict=True):
            if left != right:
                return first_difference(left, right, f"{path}[]")
    return path, real, ours


class Exploration:
    """The shots of one run: the same for the same seed, name and release."""

    def __init__(self, release: str, name: str, seed: int, *, brokers: int = 1, listener: str = "broker") -> None:
        self._served = releases.get(release).listeners[listener].api_versions
        self.random = Random(f"{seed} {release}")
        self.drawer = Drawer(self.random, name, release, brokers=brokers)
        self._brokers = brokers

    def shots(self, api_keys: list[int], kinds: list[str], count: int) -> Iterator[Shot]:
        """`count` shots of each kind and API, the kinds of an API one after another."""
        for api_key in api_keys:
            for kind in kinds:
                if kind == "values" or api_key not in NEVER:
                    yield from {"values": self._values, "mutations": self._mutations, "broken": self._broken}[kind](
                        api_key, count
                    )

    def _version(self, api_key: int) -> int:
        declared = request_type(api_key).VERSIONS
        served = self._served.get(api_key, declared)
        lowest, highest = max(served.lowest, declared.lowest), min(served.highest, declared.highest)
        return self.random.choice((highest, self.random.randint(lowest, highest)))

    def _body(self, api_key: int, version: int, *, sound: bool = False) -> bytes:
        self.drawer.number += 1
        return self.drawer.message(request_type(api_key), version, sound=sound).encode(version)

    def _values(self, api_key: int, count: int) -> Iterator[Shot]:
        for _ in range(count):
            version = self._version(api_key)
            data = framed_request(api_key, version, self._body(api_key, version))
            broker = self.random.randint(1, self._brokers)
            yield Shot(api_key=api_key, version=version, data=data, note="values", broker=broker)

    def _mutations(self, api_key: int, count: int) -> Iterator[Shot]:
        for _ in range(count // MUTATIONS_OF_ONE):
            version = self._version(api_key)
            frame = framed_request(api_key, version, self._body(api_key, version, sound=True))
            cls = request_type(api_key)
            for data, note in mutations_of(frame, cls, version, self.random, MUTATIONS_OF_ONE):
                yield Shot(api_key=api_key, version=version, data=data, note=note)

    def _broken(self, api_key: int, count: int) -> Iterator[Shot]:
        versions = self._served.get(api_key, request_type(api_key).VERSIONS)
        each = max(1, count // len(versions))
        for version in versions:
            bodies = [self._body(api_key, version, sound=self.random.random() < 0.5) for _ in range(each)]
            for body, note in broken(request_type(api_key), version, bodies, self.random.randrange(2**32)):
                data = framed_request(api_key, version, body)
                yield Shot(api_key=api_key, version=version, data=data, note=note)
            for data, note in headers(api_key, version, bodies[0]):
                yield Shot(api_key=api_key, version=version, data=data, note=note)


def explore(real: Side, ours: Side, shots: Iterator[Shot], *, on_difference: Any = None) -> Findings:
    """Fire every shot at both sides."""
    findings = Findings()
    pause = Event()
    last: Shot | None = None
    for shot in shots:
        try:
            responses = [side.fire(shot) for side in (real, ours)]
            if SILENT in (responses[0].ordered, responses[1].ordered) and responses[0].ordered != responses[1].ordered:
                late = 0 if responses[0].ordered == SILENT else 1
                responses[late] = (real, ours)[late].fire(shot, seconds=PATIENT_SECONDS)
        except ConnectionRefusedError as refused:
            print(f"{refused}: {shot.note} {shot.data.hex()}; before it {last.data.hex() if last else None}")
            break
        last = shot
        findings.add(shot, *responses)
        if on_difference is not None and responses[0].ordered != responses[1].ordered:
            on_difference(shot, *responses)
        if shot.api_key in CHANGING:
            pause.wait(SETTLE_SECONDS)
    return findings


def report(findings: Findings, *, examples: bool) -> None:
    """Print the classes of differences, those seen most first."""
    print(f"{findings.sent} probes, {len(findings.differences)} classes of differences")
    for key, found in sorted(findings.differences.items(), key=lambda item: -item[1].count):
        print(f"{found.count:5} x {key}   (v{found.shot.version}, broker {found.shot.broker}: {found.shot.note})")
        if examples:
            print(f"        sent {found.shot.data.hex()[:2000]}")
            print(f"        real {_cut(found.real)}")
            print(f"        ours {_cut(found.ours)}")


def _cut(value: Any) -> str:
    return json.dumps(value)[:1500]


def main() -> int:
    """Explore; the exit code is 1 if the sides differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", choices=RELEASES, default=RELEASES[-1])
    parser.add_argument("--api", action="append", help="an API's name; all that are served when none is given")
    parser.add_argument("--kind", action="append", choices=KINDS, help="all when none is given")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--listener", choices=LISTENERS, default=LISTENERS[0], help="whose requests are explored")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--probes", type=int, default=100, help="for each API and kind")
    parser.add_argument("--real", metavar="HOST:PORT", help="a real broker that runs")
    parser.add_argument("--name", help="what the names of topics begin with")
    parser.add_argument("--examples", action="store_true", help="print the first probe of each class")
    arguments = parser.parse_args()
    api_keys = (
        [ApiKey.named(name) for name in arguments.api]
        if arguments.api
        else [each for each in FILES[arguments.listener] if each != DEADLY]
    )
    served = releases.get(arguments.release).listeners[arguments.listener].api_versions
    api_keys = [key for key in api_keys if arguments.api or key in served or key in (71, 72)]
    on_controller = arguments.listener == LISTENERS[1]
    brokers = arguments.brokers
    name = arguments.name or f"x{arguments.seed}"
    # A real broker alone cannot have a topic with three replicas, and does not respond until it can.
    settings = SETTINGS if arguments.release == RELEASES[0] else SETTINGS | dict(SHARE)
    with ExitStack() as running:
        bootstrap = arguments.real
        if bootstrap is None:
            kafka = real_kafka(arguments.release, brokers=brokers, settings=settings)
            bootstrap = running.enter_context(kafka).probe_servers
        cluster = running.enter_context(ThreadedCluster(brokers=brokers, release=arguments.release, config=settings))
        own = probe_servers(cluster.bootstrap_servers, bound_by(cluster))
        sides = [Side(each, arguments.release, name, on_controller=on_controller) for each in (bootstrap, own)]
        for side in sides:
            side.prepare()
        exploration = Exploration(arguments.release, name, arguments.seed, brokers=brokers, listener=arguments.listener)
        shots = exploration.shots(api_keys, arguments.kind or list(KINDS), arguments.probes)
        findings = explore(sides[0], sides[1], shots)
    report(findings, examples=arguments.examples)
    return 1 if findings.differences else 0


if __name__ == "__main__":
    sys.exit(main())
