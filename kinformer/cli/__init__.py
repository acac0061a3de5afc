"""The command line: ``kinformer demo``, ``kinformer run`` and ``kinformer apiserver``."""

from kinformer.cli._main import main

__all__ = ["main"]
