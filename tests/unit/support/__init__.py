"""Tests of doubles and rigs that other tests stand on."""
