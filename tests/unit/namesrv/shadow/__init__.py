"""Unit tests of cosmodrome.namesrv.shadow."""
