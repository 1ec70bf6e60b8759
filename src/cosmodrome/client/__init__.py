"""The client's side of the protocol: what programs ask NameServers and brokers."""
