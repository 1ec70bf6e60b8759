"""Who may do what at a broker: accounts, what requests need, and what is done when it is not there."""
