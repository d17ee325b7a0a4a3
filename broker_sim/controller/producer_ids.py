"""Producer ids, in blocks: the controller hands out a block, a broker its ids. Mirrors ProducerIdControlManager and
RPCProducerIdManager (KIP-730).

A broker without ids requests a block and responds COORDINATOR_LOAD_IN_PROGRESS meanwhile, as a real one does to the
first InitProducerId after its start; before 3.6 (KAFKA-14694) the client waited for the block. After nine tenths of a
block the broker requests the next one ahead of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from twisted.internet.defer import Deferred, succeed

from broker_sim.links.node_links import CONTROLLER_ID, LinkFailure
from broker_sim.metadata.metadata_image import ProducerIds
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.interfaces import IDelayedCall
    from twisted.python.failure import Failure

    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.metadata_image import MetadataImage
    from sim_runtime.interfaces import IReactor

BLOCK_SIZE: Final = 1000
PREFETCH_THRESHOLD: Final = 0.90
RETRY_BACKOFF_MS: Final = 50


class ProducerIdsBlock(NamedTuple):
    """Ids from `first` to before `first + size`."""

    first: int
    size: int


def next_block(image: MetadataImage, broker_id: int) -> tuple[ProducerIdsBlock, ProducerIds]:
    """Return the next block for a registered broker, and its metadata record. Mirrors generateNextProducerId."""
    first = image.producer_ids.next_producer_id
    broker_epoch = image.brokers[broker_id].epoch
    return ProducerIdsBlock(first, BLOCK_SIZE), ProducerIds(first + BLOCK_SIZE, broker_id, broker_epoch)


class ProducerIdManager:
    """One broker's ids; the rest of a block is lost with the broker's process."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        links: NodeLinks,
        broker_id: int,
        broker_epoch: Callable[[], int],
        target_id: int = CONTROLLER_ID,
    ) -> None:
        self._target_id = target_id
        self._reactor = reactor
        self._links = links
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._block = ProducerIdsBlock(0, 0)
        self._used = 0
        self._next_block: ProducerIdsBlock | None = None
        self._requesting = False
        self._stopped = False
        self._retry: IDelayedCall | None = None
        self._waiting: dict[Deferred[int | ErrorCode], IDelayedCall] = {}

    def fetch(self) -> None:
        """Request the first block before a producer needs it, which would wait for the block."""
        if not self._block.size and self._next_block is None:
            self._request()

    def generate(self) -> int | ErrorCode:
        """Return an unused producer id, or COORDINATOR_LOAD_IN_PROGRESS while a block is on its way."""
        if self._used >= self._block.size and self._next_block is not None:
            self._block, self._next_block, self._used = self._next_block, None, 0
        if self._used >= self._block.size:
            self._request()
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        producer_id = self._block.first + self._used
        self._used += 1
        if self._used >= self._block.size * PREFETCH_THRESHOLD and self._next_block is None:
            self._request()
        return producer_id

    def generate_within(self, timeout_ms: float) -> Deferred[int | ErrorCode]:
        """A producer id once there is one, or REQUEST_TIMED_OUT when no block came in time."""
        found = self.generate()
        if found is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and self._next_block is not None:
            found = self.generate()  # the link has responded at once
        if found is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return succeed(found)
        waiting: Deferred[int | ErrorCode] = Deferred()
        self._waiting[waiting] = self._reactor.callLater(timeout_ms / 1000, self._give_up, waiting)
        return waiting

    def stop(self) -> None:
        """Drop all waiting requests: the broker's process has ended."""
        self._stopped = True
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _request(self) -> None:
        if self._requesting or self._stopped:
            return
        self._requesting = True
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch())
        response: Deferred[AllocateProducerIdsResponse] = self._links.send(self._broker_id, self._target_id, request)
        response.addCallbacks(self._allocated, self._failed)

    def _allocated(self, response: AllocateProducerIdsResponse) -> None:
        if response.error_code:
            self._retry_request()
            return
        self._requesting = False
        self._next_block = ProducerIdsBlock(response.producer_id_start, response.producer_id_len)
        for waiting in list(self._waiting):
            found = self.generate()
            if found is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                self._waiting.pop(waiting).cancel()
                waiting.callback(found)

    def _give_up(self, waiting: Deferred[int | ErrorCode]) -> None:
        del self._waiting[waiting]
        waiting.callback(ErrorCode.REQUEST_TIMED_OUT)

    def _failed(self, failure: Failure) -> None:
        failure.trap(LinkFailure)
        self._retry_request()

    def _retry_request(self) -> None:
        def again() -> None:
            self._retry = None
            self._requesting = False
            self._request()

        if not self._stopped:
            self._retry = self._reactor.callLater(RETRY_BACKOFF_MS / 1000, again)
