"""Clusters of the ZooKeeper era: metadata in ZooKeeper, one of the brokers as controller, who pushes to all."""
