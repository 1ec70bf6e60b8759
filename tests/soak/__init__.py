"""A long run under churn and bad peers, checked against the model: `python -m tests.soak --minutes 3`."""
