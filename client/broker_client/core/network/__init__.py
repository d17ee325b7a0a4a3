"""Connections to brokers. Mirrors org.apache.kafka.clients and common.network: NetworkClient, Selector, Metadata."""
