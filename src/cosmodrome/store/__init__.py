"""The durable message store: Apache RocketMQ's own files, which its brokers open and we open after them."""
