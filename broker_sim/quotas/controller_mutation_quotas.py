"""Limits the partitions that a client creates and deletes, at the controller (KIP-599).

Mirrors ControllerMutationQuotaManager with ControllerApis. A strict quota rejects with THROTTLING_QUOTA_EXCEEDED when
the bucket is already below zero; a permissive one, for versions whose clients do not know that error, only makes the
client wait. Either way a request that finds tokens may take more than there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.quotas.client_quota_manager import ANONYMOUS, ControllerMutationQuotaManager

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.quotas.client_quotas_image import ClientQuotasImage
    from broker_sim.quotas.rate import TokenBucket
    from protocol_specs.api_key import ApiKey

__all__ = ["ControllerMutationQuotas", "MutationQuota"]


class MutationQuota:
    """The tokens that one request takes of a bucket. Mirrors StrictControllerMutationQuota and the permissive one."""

    __slots__ = ("_bucket", "_now_ms", "_strict", "throttle_ms")

    def __init__(self, bucket: TokenBucket, *, strict: bool, now_ms: int) -> None:
        self._bucket = bucket
        self._strict = strict
        self._now_ms = now_ms
        self.throttle_ms = 0
        """How long the client has to wait."""

    def accepts(self, partitions: int) -> bool:
        """Take a token for each partition; False when there are none and the client is to be throttled by an error."""
        if self._strict:
            throttle_ms = self._bucket.throttle_ms(self._now_ms)
            if throttle_ms > 0:
                self.throttle_ms = throttle_ms
                return False
            self._bucket.record(partitions, self._now_ms)
        else:
            self._bucket.record(partitions, self._now_ms)
            self.throttle_ms = self._bucket.throttle_ms(self._now_ms) or self.throttle_ms
        return True


class ControllerMutationQuotas:
    """The controller's buckets."""

    def __init__(
        self, config: BrokerConfig, *, now_us: Callable[[], int], image: Callable[[], ClientQuotasImage]
    ) -> None:
        samples, window_s = config["controller.quota.window.num"], config["controller.quota.window.size.seconds"]
        assert isinstance(samples, int)
        assert isinstance(window_s, int)
        self._manager = ControllerMutationQuotaManager(
            samples=samples, window_s=window_s, kinds_stay=config.behaviour.quota_kinds_stay
        )
        self._now_us = now_us
        self._image = image
        self._applied: ClientQuotasImage | None = None

    def quota_of(
        self, api_key: ApiKey, api_version: int, client_id: str | None, *, user: str = ANONYMOUS
    ) -> MutationQuota | None:
        """The quota of one request of a user; None where there is none."""
        image = self._image()
        if image is not self._applied:
            self._applied = image
            self._manager.apply(image)
        strict_since = api_key.facts.strict_mutation_quota_since
        if strict_since is None or not self._manager.enabled:
            return None
        return MutationQuota(
            self._manager.sensor(user, client_id),
            strict=api_version >= strict_since,
            now_ms=self._now_us() // 1000,
        )
