"""Who may do what over the wire, and what is remembered of it. docs/policy.md is the table for people."""
