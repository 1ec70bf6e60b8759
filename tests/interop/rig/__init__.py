"""What the interoperability tests start: NameServers, brokers, clients and tools of named releases.

Read in this order: jars, process, java, name_servers, brokers, clients, mqadmin.
"""
