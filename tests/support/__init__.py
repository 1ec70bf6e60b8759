"""What tests of every kind share: a raw client of the protocol and builders of what peers send."""
