"""What a broker tells over HTTP."""
