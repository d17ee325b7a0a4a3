"""Clusters in ZooKeeper mode: metadata in ZooKeeper, and one of the brokers as controller, which sends it to all."""
