"""Random streams, one per part, derived from (seed, name): an added draw in one part does not change the others."""

from __future__ import annotations

import hashlib
import random
from typing import Any, cast

__all__ = ["LazyRandom", "RandomStreams", "RenamedStreams", "stream_of"]


class LazyRandom:
    """Has the methods of the random.Random with this seed, and makes it with the first of them that is used.

    Most parts of a run never draw, and to seed a random.Random takes as long as hundreds of draws.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random: random.Random | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # of a copy that is in the making
            raise AttributeError(name)
        if self._random is None:
            self._random = random.Random(self._seed)
        return getattr(self._random, name)


class RandomStreams:
    """The streams of one run. The same name always returns the same stream object, so that its draws continue."""

    __slots__ = ("_streams", "seed")

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, name: str) -> random.Random:
        """The stream of the part `name`; its first draw depends on the seed and the name alone."""
        found = self._streams.get(name)
        if found is None:
            key = hashlib.blake2b(f"{self.seed}\n{name}".encode(), digest_size=32).digest()
            lazy = LazyRandom(int.from_bytes(key, "big"))
            found = self._streams[name] = cast("random.Random", lazy)
        return found

    def fingerprint(self) -> str:
        """A hash of the state of every stream: it differs for runs with different draws."""
        state = hashlib.blake2b(digest_size=16)
        for name in sorted(self._streams):
            state.update(f"{name}\n{self._streams[name].getstate()}\n".encode())
        return state.hexdigest()


class RenamedStreams(RandomStreams):
    """The streams of another incarnation of a part: each name has a suffix."""

    __slots__ = ("_original", "_suffix")

    def __init__(self, original: RandomStreams, suffix: str) -> None:
        super().__init__(original.seed)
        self._original = original
        self._suffix = suffix

    def stream(self, name: str) -> random.Random:
        """The original's stream of that name and the suffix."""
        return self._original.stream(name + self._suffix)

    def fingerprint(self) -> str:
        """The original's, which has all streams."""
        return self._original.fingerprint()


def stream_of(seed: int) -> random.Random:
    """Return a stream for a seed that another stream has drawn."""
    return random.Random(seed)
