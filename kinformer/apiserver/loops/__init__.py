"""What a cluster does by itself: namespace lifecycle, garbage collection."""
