"""The administration of brokers and NameServers, as Java's tools see them."""
