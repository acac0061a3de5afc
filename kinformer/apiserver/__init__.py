"""An apiserver small enough to start inside a test."""
