"""Speak HTTP to an apiserver."""
