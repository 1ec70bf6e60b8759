"""Shadow mode: what another NameServer would have answered, beside each answer of ours.

Read in this order: comparison, tally, shadow.
"""
