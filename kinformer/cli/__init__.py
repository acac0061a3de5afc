"""kinformer demo | run | apiserver."""
