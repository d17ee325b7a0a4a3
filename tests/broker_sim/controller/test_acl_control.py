"""Access control entries in the metadata log."""

from __future__ import annotations

from broker_sim.cluster import Cluster
from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.metadata.metadata_records import image_records
from broker_sim.metadata.metadata_replay import replay
from broker_sim.security.acl import Acl, AclFilter, AclOperation, AclPermissionType, PatternType, ResourceType
from protocol_specs.error_codes import ErrorCode
from sim_runtime.world import World

ENTRY = Acl(ResourceType.TOPIC, "t", PatternType.PREFIXED, "User:a", "*", AclOperation.READ, AclPermissionType.ALLOW)
OTHER = ENTRY._replace(resource_name="u")
OF_T = AclFilter(ResourceType.ANY, "t", PatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY)


def test_entries_are_records_that_every_node_replays() -> None:
    world = World(1)
    cluster = Cluster(reactor=world.reactor, streams=world.streams, brokers=2, listen=False)
    cluster.start()
    acls = cluster.controller.controls.acls
    before = cluster.controller.image
    assert [each.code for each in acls.create([ENTRY, OTHER, ENTRY])] == [ErrorCode.NONE] * 3
    image = cluster.controller.image
    assert list(image.acls.values()) == [ENTRY, OTHER]
    records = [record for record, _ in image_records(image)]
    assert replay(MetadataImage.empty("c"), records, version=1).acls == image.acls
    world.run_for(ms=100)
    assert cluster.brokers[2].metadata_cache.image.acls == image.acls
    assert acls.create([ENTRY]) == acls.create([OTHER])
    assert cluster.controller.image is image, "an entry that exists makes no record"
    [deleted] = acls.delete([OF_T])
    assert deleted.acls == (ENTRY,)
    assert list(cluster.controller.image.acls.values()) == [OTHER]
    assert before.acls == {}
    cluster.close()


def test_entries_and_filters_are_checked_one_by_one() -> None:
    world = World(1)
    cluster = Cluster(reactor=world.reactor, streams=world.streams, brokers=1, listen=False)
    cluster.start()
    acls = cluster.controller.controls.acls
    bad = [
        ENTRY._replace(resource_type=ResourceType.CLUSTER),
        ENTRY._replace(resource_name=""),
        ENTRY._replace(operation=AclOperation.UNKNOWN),
        ENTRY._replace(principal="a"),
    ]
    results = acls.create([*bad, ENTRY])
    assert [each.code for each in results] == [ErrorCode.INVALID_REQUEST] * 4 + [ErrorCode.NONE]
    found = acls.delete([OF_T._replace(operation=AclOperation.UNKNOWN), OF_T])
    assert [(each.error.code, len(each.acls)) for each in found] == [
        (ErrorCode.INVALID_REQUEST, 0),
        (ErrorCode.NONE, 1),
    ]
    cluster.close()
