"""Real Apache RocketMQ software against our NameServer."""
