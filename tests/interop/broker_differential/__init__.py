"""Random histories of client requests, played to Apache's broker 5.5.0 and to ours; every answer is compared.

Read in this order: history (what is played), generator, side and player (how it is played), reading (what an answer
says), differences (what may differ), shrinking.
"""
