"""Small tests of the HTTP listener's parts, without a server of ours behind it."""
