"""POP mode (5.x): messages that are handed out one by one, and come again when nobody acknowledges them.

A pop: taking.py chooses messages, handing_out.py writes a check point (revive_log.py, in_flight.py) and answers. What is
done comes back by acknowledging.py; what is not is delivered again by revival.py. service.py puts the parts together.
"""
