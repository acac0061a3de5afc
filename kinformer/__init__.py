"""kinformer: the SDK for Kubernetes controllers in Python."""
