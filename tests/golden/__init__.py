"""What real RocketMQ software sent and was told."""
