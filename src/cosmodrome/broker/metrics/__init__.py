"""What is counted and measured of a running broker, under RocketMQ 5's names."""
