"""Random histories of requests, played to the Apache NameServer and to ours; every answer is compared.

Read in this order: history (what is played), model (what may be played), generator, side and player
(how it is played), reading (what an answer says), differences (what may differ), shrinking.
"""
