"""The watch cache between storage and the verbs."""
