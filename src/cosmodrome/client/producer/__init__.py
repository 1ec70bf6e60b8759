"""Producers: sending messages of any kind.

Read in this order: producer, sending, outgoing, queue_choice, retry, fault_tolerance; then what is built on sends: batches,
transactions, request_reply, trace.
"""
